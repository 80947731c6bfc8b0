"""The live page as Chromium shows it, while a run goes on."""

import json
import time

import pytest

from coevo.reporting.live.library import Library

pytestmark = pytest.mark.slow

WITHIN_S = 60


def wait_until(page, expression):
    """Wait until a JavaScript expression holds; the policy of the page forbids to wait inside it."""
    last = time.monotonic() + WITHIN_S
    while not page.evaluate(expression):
        assert time.monotonic() < last, f"never true: {expression}"
        page.wait_for_timeout(50)


@pytest.fixture
def opened(browser):
    """Opens an address; gives the page and what it logged."""
    contexts = []

    def open_page(address, width=1280, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page, said = context.new_page(), []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        page.set_default_timeout(WITHIN_S * 1000)
        page.goto(address)
        return page, said

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def growing(whole_run):
    """A run of which so far only the first generation has happened, and what is still to be written of its log."""
    run = whole_run()
    lines = run.directory.events.read_bytes().splitlines(keepends=True)
    (run.path / "result.json").unlink()
    place = next(n for n, line in enumerate(lines) if json.loads(line)["kind"] == "generation") + 1
    run.directory.events.write_bytes(b"".join(lines[:place]))
    return run, lines[place:]


def address_of(server, run):
    """The address of a run's page."""
    slug = next(each.slug for each in Library([run.path]).states())
    return f"{server.address}run/{slug}"


def curve(page):
    """The values of the progress curve in the page."""
    text = page.get_attribute('#progress [data-series="best so far"]', "data-y")
    return [float(value) for value in text.split()]


def append(run, lines):
    """Write on a run's log."""
    with run.directory.events.open("ab") as file:
        file.writelines(lines)


def test_news_appear_without_a_reload(opened, serve, growing):
    """Events appended to a log come into the open page, which keeps what is unfolded, and nothing is logged."""
    run, rest = growing
    page, said = opened(address_of(serve(), run))
    page.evaluate("window.stayed = true")
    assert page.inner_text(".live .state") == "running"
    assert curve(page) == [8.0, 6.0, 5.0, 5.0]
    page.click("#repeat summary >> nth=0")
    page.click("#progress summary")
    torn = rest[-1][: len(rest[-1]) // 2]
    append(run, [*rest[:-1], torn])
    wait_until(
        page,
        """
        document.querySelector('#progress [data-series="best so far"]').dataset.y.endsWith('4.0')
    """,
    )
    assert curve(page)[-2:] == [4.0, 4.0]
    assert page.inner_text(".live .state") == "running"
    assert page.evaluate("[...document.querySelectorAll('details[open] > summary')].map(each => each.textContent)")[
        -1
    ] == ("config.toml")
    assert page.evaluate("document.querySelector('#progress details').open")
    append(run, [rest[-1][len(torn) :]])
    wait_until(page, "document.querySelector('.live .state').textContent === 'finished'")
    page.wait_for_selector("#results")
    assert "finished: the budget is spent" in page.inner_text(".status")
    assert page.evaluate("window.stayed")
    assert said == []


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1280, "light")])
def test_a_hostile_run_does_nothing(opened, serve, whole_run, hostile, width, scheme):
    """Nothing of a run's text runs, on any page, also after it was swapped in; no page is wider than its window."""
    run = whole_run(hostile)
    server = serve()
    slug = address_of(server, run).rpartition("/")[2]
    for path in ("", f"run/{slug}", f"compare?run={slug}"):
        page, said = opened(server.address + path, width, scheme)
        before = page.get_attribute("body", "data-version")
        run.emit("resumed")
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        wait_until(page, f"document.body.dataset.version !== '{before}'")
        assert page.evaluate("[window.ran, document.scripts.length]") == [None, 1]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert said == []


def test_the_policy_stops_another_script(opened, serve, whole_run):
    """A script that got in all the same would not run."""
    page, said = opened(address_of(serve(), whole_run()))
    page.evaluate("""
        const script = document.createElement('script');
        script.textContent = 'window.ran = 1';
        document.body.append(script);
    """)
    assert page.evaluate("window.ran") is None
    assert any("Content Security Policy" in line for line in said)


def test_ticked_runs_are_compared(opened, serve, whole_run):
    """A new run appears in the open list, ticks stay, and the button leads to the curves of the ticked runs."""
    first = whole_run(seed=1)
    page, said = opened(serve().address, 360)
    page.check(".runs input")
    second = whole_run(seed=2)
    wait_until(page, "document.querySelectorAll('.runs input').length === 2")
    ticked = page.evaluate("[...document.querySelectorAll('.runs input:checked')].map(each => each.value)")
    assert len(ticked) == 1
    assert ticked[0].startswith(first.path.name)
    page.check(f".runs input[value^='{second.path.name}']")
    page.click("button")
    page.wait_for_selector("#curves")
    assert page.evaluate("document.querySelectorAll('#curves [data-series]').length") == 4
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert said == []


def test_a_server_that_is_gone_is_named(opened, serve, whole_run):
    """When the server ends the page says so instead of looking up to date."""
    server = serve()
    page, _ = opened(address_of(server, whole_run()))
    wait_until(page, "document.getElementById('link').textContent === 'up to date'")
    server.shutdown()
    server.server_close()
    wait_until(page, "document.getElementById('link').textContent.includes('does not answer')")
