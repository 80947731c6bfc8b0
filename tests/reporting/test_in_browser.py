"""Pages as Chromium shows them."""

import pytest

from coevo.reporting.comparison import comparison_page
from coevo.reporting.picture import Picture
from coevo.reporting.run_page import run_page
from coevo.reporting.telling import tell_run

pytestmark = pytest.mark.slow

SVG = "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHZpZXdCb3g9IjAgMCA5IDkiLz4="


@pytest.fixture
def opened(browser, tmp_path):
    """Opens HTML; gives the page and what it logged and asked for."""
    contexts = []

    def open_page(html, width=1280, scheme="light"):
        file = tmp_path / "page.html"
        file.write_text(html)
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        said, asked = [], []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        return page, said, [url for url in asked if url != file.as_uri() and not url.startswith("data:")]

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def hostile_page(whole_run, hostile):
    """The page of a run whose every text attacks it."""
    return run_page(tell_run(whole_run(hostile).path), Picture(SVG, hostile))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_a_hostile_run_does_nothing(opened, hostile_page, width, scheme):
    """Nothing runs, is logged or fetched; nothing is wider than the window; the style sheet is in force."""
    page, said, asked = opened(hostile_page, width, scheme)
    assert (said, asked) == ([], [])
    assert page.evaluate("[window.ran, document.scripts.length, document.styleSheets.length]") == [None, 0, 1]
    assert "tiny" in page.title()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("getComputedStyle(document.body).display") == "block"
    assert page.evaluate("document.querySelector('main').innerText.length") > 1000


def test_the_schemes_differ(opened, hostile_page):
    """Light paper by day and dark paper by night, with ink that contrasts with it."""
    shades = {}
    for scheme in ("light", "dark"):
        page, _, _ = opened(hostile_page, scheme=scheme)
        style = "getComputedStyle(document.body)"
        shades[scheme] = page.evaluate(f"[{style}.backgroundColor, {style}.color]")
    luminance = {key: [sum(map(int, c[4:-1].split(","))) for c in colours] for key, colours in shades.items()}
    paper, ink = luminance["light"]
    assert paper - ink > 400
    paper, ink = luminance["dark"]
    assert ink - paper > 400


def test_the_policy_stops_a_script(opened, hostile_page):
    """A script that got in all the same would not run: the policy is in force."""
    page, said, _ = opened(hostile_page)
    page.evaluate("""
        const script = document.createElement('script');
        script.textContent = 'window.ran = 1';
        document.body.append(script);
    """)
    assert page.evaluate("window.ran") is None
    assert any("Content Security Policy" in line for line in said)


def test_the_curve_is_where_the_runs_numbers_are(opened, whole_run):
    """The pixels of the progress curve's markers, read with the axis's ticks, are the running minimum of the log."""
    run = whole_run()
    page, _, _ = opened(run_page(tell_run(run.path)))
    marks = page.evaluate("""
        [...document.querySelectorAll('#progress .curve circle')].map(each => {
            const box = each.getBoundingClientRect();
            return (box.top + box.bottom) / 2;
        })
    """)
    ticks = page.evaluate("""
        (() => {
            const lines = [...document.querySelectorAll('#progress .grid')];
            const labels = [...document.querySelectorAll('#progress svg > text[text-anchor=end]:not([class])')];
            return lines.map((line, n) => [line.getBoundingClientRect().top, Number(labels[n].textContent)]);
        })()
    """)
    (y0, v0), (y1, v1) = ticks[0], ticks[-1]
    shown = [v0 + (mark - y0) * (v1 - v0) / (y1 - y0) for mark in marks]
    costs = [e["cost"] for e in run.events() if e["kind"] == "child" and e["cost"] is not None]
    expected = [cost for place, cost in enumerate(costs) if cost < min(costs[:place], default=float("inf"))]
    assert shown == pytest.approx(expected, abs=0.05)


def test_text_is_legible_on_a_phone(opened, whole_run):
    """At 360 pixels no letter of a chart is smaller than 9 pixels, and links can be hit."""
    page, _, _ = opened(run_page(tell_run(whole_run().path)), width=360)
    sizes = page.evaluate("""
        [...document.querySelectorAll('svg.chart')].map(svg => {
            const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
            return scale * parseFloat(getComputedStyle(svg.querySelector('text')).fontSize);
        })
    """)
    assert min(sizes) >= 9
    heights = page.evaluate("[...document.querySelectorAll('nav a')].map(a => a.getBoundingClientRect().height)")
    assert min(heights) >= 24


def test_no_text_of_a_chart_is_cut_off(opened, whole_run):
    """Every letter of every chart lies inside its card, at both widths."""
    for width in (360, 1280):
        page, _, _ = opened(run_page(tell_run(whole_run().path)), width=width)
        outside = page.evaluate("""
            [...document.querySelectorAll('svg.chart text')].filter(text => {
                const own = text.getBoundingClientRect();
                const card = text.closest('figure').getBoundingClientRect();
                return own.left < card.left || own.right > card.right;
            }).map(text => text.textContent)
        """)
        assert outside == []


@pytest.mark.parametrize("width", [360, 1280])
def test_a_comparison_fits(opened, whole_run, width):
    """The page of several runs logs nothing and is no wider than the window."""
    stories = [tell_run(whole_run(seed=seed).path) for seed in range(3)]
    page, said, asked = opened(comparison_page(stories), width)
    assert (said, asked) == ([], [])
    assert page.evaluate("document.documentElement.scrollWidth") <= width
