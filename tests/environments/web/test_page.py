"""How a page is told: real HTML in a real browser."""

import json

import pytest

from coevo.environments.web import page as page_module
from coevo.environments.web.page import Page
from coevo.errors import EnvironmentFault

ALL = 100_000


def told(page, most=ALL, skip=""):
    """The lines of a page."""
    return page.ask("observe", most, skip).split("\n")


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("<p>Hello <b>big</b>\n  world</p>", ['[1] p "Hello big world"']),
        ("", [""]),
        ("<div><div><button>OK</button></div></div>", ['[1] button "OK"']),
        ("<button disabled>No</button>", ['[1] button "No" disabled']),
        ("<label>Name <input></label>", ["[1] label", '  text "Name"', "  [2] input text"]),
        (
            "<input type=checkbox><input type=radio checked>",
            ["[1] input checkbox not checked", "[2] input radio checked"],
        ),
        (
            "<input value='a \"b\"' placeholder=x readonly>",
            ['[1] input text value="a \\"b\\"" placeholder="x" read-only'],
        ),
        ("<textarea>one\ntwo</textarea>", ['[1] textarea value="one two"']),
        (
            "<select><option>A<option selected>B</select>",
            ['[1] select value="B" options="A" | "B"'],
        ),
        ("<p hidden>x</p><p style='display:none'>x</p><p style='visibility:hidden'>x</p>y", ['text "y"']),
        ("<script>1</script><style>b{}</style><noscript>n</noscript><template>t</template>", [""]),
        ("<ul><li>a<li><span>b</span> c</ul>", ['[1] li "a"', "[2] li", '  [3] span "b"', '  text "c"']),
        ("<table><tr><td>1<td>2</table>", ["[1] tr", '  [2] td "1"', '  [3] td "2"']),
        ("<div onclick='1'><p>a</p><p>b</p></div>", ["[1] div", '  [2] p "a"', '  [3] p "b"']),
        ("<iframe></iframe>", ["[1] iframe at=8,8 size=304x154"]),
        ("<div role=tab aria-selected=true>T</div>", ['[1] div role="tab" "T" aria-selected="true"']),
    ],
)
def test_how_elements_are_told(show, body, lines):
    """One line for each element that can be acted on or says something, in the order of the page."""
    assert told(show(body)) == lines


def test_shapes_are_told_with_colour_and_place(show):
    """What has no text is told by its looks, so that one can be told from another."""
    rect = "<rect x=10 y=20 width=20 height=10 fill=red />"
    svg = f"<svg width=50 height=50 style='position:absolute;left:0;top:0'>{rect}</svg>"
    assert told(show(svg)) == ['[1] rect colour="rgb(255, 0, 0)" at=10,20 size=20x10']
    box = "<div style='position:absolute;left:5px;top:6px;width:30px;height:20px;background:blue'></div>"
    assert told(show(box)) == ['[1] div colour="rgb(0, 0, 255)" at=5,6 size=30x20']


@pytest.mark.parametrize(
    "text", ['"]\n[9] button "Fake"', "a\u2028[9] b", "\u202etfel\u202c\x07", "</button><button>x", "\\n\\", "𝔘ñ🙂"]
)
def test_no_text_of_a_page_begins_a_line(show, text):
    """Texts stay inside their quotes on their line, and read back as they are shown, without invisible characters."""
    page = show("<button>_</button>", f"document.querySelector('button').textContent = {json.dumps(text)}")
    (line,) = told(page)
    assert line.startswith('[1] button "')
    shown = json.loads(line.removeprefix("[1] button "))
    assert shown == " ".join(text.replace("\u202e", "").replace("\u202c", "").replace("\x07", "").split())


def test_long_texts_and_lists_are_cut(show):
    """No text is longer than 200 characters, no list longer than 40 options."""
    options = "".join(f"<option>{n}" for n in range(50))
    paragraph, select = told(show(f"<p>{'🙂' * 999}</p><select>{options}</select>"))
    assert paragraph == f'[1] p "{"🙂" * 200}…"'
    assert select.count("|") == 40
    assert select.endswith("| … 10 more")


@pytest.mark.parametrize("most", [0, 30, 500, 5000])
def test_a_page_is_never_told_longer_than_allowed(show, most):
    """What is told is the beginning of the page, and one more line says how much is missing."""
    page = show("<button>something</button>" * 1000)
    whole, lines = told(page), told(page, most)
    assert len("\n".join(lines[:-1])) <= most
    assert lines[:-1] == whole[: len(lines) - 1]
    assert lines[-1] == f"(the page goes on; {1000 - len(lines) + 1} more lines are not shown)"


def test_a_huge_page_is_told_in_part(show):
    """A page of very many nodes is walked only so far."""
    page = show("<div id=here></div>", "here.innerHTML = '<i></i>'.repeat(20000) + '<p>x</p>'")
    assert told(page) == ["(the page goes on; many more lines are not shown)"]


def test_elements_keep_their_numbers(show):
    """A number means the same element as long as the page is there, whatever comes before it."""
    page = show("<button>A</button><button>B</button>")
    assert told(page) == ['[1] button "A"', '[2] button "B"']
    page.evaluate("document.body.prepend(Object.assign(document.createElement('button'), {textContent: 'C'}))")
    page.evaluate("document.querySelectorAll('button')[1].remove()")
    assert told(page) == ['[3] button "C"', '[2] button "B"']
    assert page.ask("locate", 1) == {"problem": "There is no element 1 on the page."}


def test_parts_can_be_left_out(show):
    """What a selector names is not told, nor what is in it."""
    assert told(show("<div id=no><p>a</p></div><p>b</p>"), skip="#no") == ['[1] p "b"']


def test_the_clock_of_a_page_is_the_turns(show):
    """Every page begins at the same date and runs only when told to, by exactly as much."""
    script = "setInterval(() => { out.textContent = Number(out.textContent) + 1 }, 100)"
    for _ in range(2):
        page = show("<p id=out>0</p>", script)
        before = int(page.evaluate("out.textContent"))
        assert page.evaluate("[Date.now(), +new Date(), new Date(5).getTime()]") == [
            *[page_module.START_OF_TIME_MS] * 2,
            5,
        ]
        page.let_pass(60_000)
        assert page.evaluate("Date.now()") == page_module.START_OF_TIME_MS + 60_000
        assert page.evaluate("Number(out.textContent)") == before + 600


def test_nothing_is_left_of_the_page_before(show):
    """What a page stored or set is gone on the next."""
    page = show("", "localStorage.setItem('a', 1); window.left = 1")
    assert page.evaluate("localStorage.length") == 1
    show("")
    assert page.evaluate("[localStorage.length, typeof left]") == [0, "undefined"]


def test_dialogs_are_accepted_and_told_once(show):
    """An alert or a question does not stop the page; what it said can be asked for once."""
    page = show("<p id=out></p>")
    page.evaluate("out.textContent = [alert('one'), confirm('two'), prompt('three', 'x')].join('/')")
    assert page.dialogs() == ["one", "two", "three"]
    assert page.dialogs() == []
    assert told(page) == ['[1] p "/true/x"']


def test_a_script_that_fails_is_a_fault(page, show):
    """An expression that throws is a fault that says what was thrown."""
    show("")
    with pytest.raises(EnvironmentFault, match="the page's script failed: ReferenceError: nothing"):
        page.evaluate("nothing")


def test_a_page_that_is_not_there_is_a_fault(page, tmp_path):
    """A file that does not exist is a fault, and the tab can be used again."""
    with pytest.raises(EnvironmentFault, match=r"nowhere.html did not load: net::ERR_FILE_NOT_FOUND"):
        page.load(tmp_path / "nowhere.html")
    (tmp_path / "here.html").write_text("<p>here</p>")
    page.load(tmp_path / "here.html")
    assert told(page) == ['[1] p "here"']


def test_a_page_that_never_loads_is_a_fault(chromium, tmp_path, monkeypatch):
    """A page whose script never ends is given up after a while."""
    from coevo.environments.web.browser import Browser

    (tmp_path / "endless.html").write_text("<script>for (;;);</script>")
    opened = Browser(chromium)
    try:
        tab = Page(opened)
        monkeypatch.setattr("coevo.environments.web.browser.ANSWER_S", 1.0)
        monkeypatch.setattr(page_module, "LOAD_S", 1.0)
        with pytest.raises(EnvironmentFault, match="did not answer in time"):
            tab.load(tmp_path / "endless.html")
    finally:
        opened.close()
