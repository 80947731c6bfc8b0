"""Actions on real pages: what they do, and what stands in their way."""

import pytest

from coevo.environments.web.actions import Action
from coevo.environments.web.performing import perform


def done(page, *actions):
    """Do actions one after the other; what stood in their way."""
    page.ask("observe", 10_000, "")
    return [perform(page, action) for action in actions]


def test_a_click_reaches_its_element(show):
    """A click lands on the element, even one far below the window."""
    page = show("<div style='height:5000px'></div><button id=b onclick='this.textContent=event.isTrusted'>x</button>")
    assert done(page, Action("click", "1")) == [""]
    assert page.evaluate("b.textContent") == "true"


def test_hovering_moves_the_mouse_alone(show):
    """Hovering over an element is seen by the page, and is no click."""
    page = show("<p id=a onmouseenter='n=1' onclick='n=2'>x</p>", "var n = 0")
    assert done(page, Action("hover", "1")) == [""]
    assert page.evaluate("n") == 1


@pytest.mark.parametrize(
    "field", ["<input id=f value=old>", "<textarea id=f>old</textarea>", "<input id=f type=email value=o>"]
)
@pytest.mark.parametrize("text", ["new text", "", 'q"(1)\\', "Grüße 🙂"])
def test_typing_replaces_what_is_in_a_field(show, field, text):
    """After typing, the field holds the text and nothing else."""
    page = show(field)
    assert done(page, Action("type", "1", text)) == [""]
    assert page.evaluate("f.value") == text


def test_typing_presses_keys(show):
    """A page sees each key, so that what it suggests while typing works."""
    page = show("<input id=f>", "var keys = []; f.onkeydown = e => keys.push(e.key + e.keyCode)")
    assert done(page, Action("type", "1", "a1\n")) == [""]
    assert page.evaluate("keys") == ["a65", "149", "Enter13"]


def test_editable_elements_and_dates_can_be_typed_into(show):
    """Text goes into an editable element, a date into a date field, and what is no date is refused."""
    page = show("<p id=e contenteditable>old</p><input id=d type=date>")
    typed = done(page, Action("type", "1", "new"), Action("type", "2", "2024-02-29"), Action("type", "2", "soon"))
    assert typed == ["", "", 'Element 2 does not take "soon".']
    assert page.evaluate("e.textContent") == "new"


@pytest.mark.parametrize("wanted", ["Two  words", "v2", "TWO WORDS"])
def test_an_option_is_chosen_by_what_it_says_or_its_value(show, wanted):
    """Choosing sets the list and tells the page."""
    body = "<select id=s><option>One<option value=v2>Two words</select>"
    page = show(body, "var told = []; s.oninput = s.onchange = e => told.push(e.type)")
    assert done(page, Action("select", "1", wanted)) == [""]
    assert page.evaluate("[s.value, ...told]") == ["v2", "input", "change"]


def test_keys_go_to_what_has_the_focus(show):
    """Pressing Tab moves on, Space presses a button."""
    page = show("<input id=f><button id=b onclick='this.textContent=1'>x</button>")
    done(
        page,
        Action("click", "1"),
        Action("press", text="z"),
        Action("press", text="Tab"),
        Action("press", text="Space"),
    )
    assert page.evaluate("[f.value, b.textContent]") == ["z", "1"]


def test_scrolling_moves_the_page_or_its_first_list(show):
    """The page is scrolled if it can be, else the first part that can; at the end it says so."""
    page = show("<div style='height:900px'></div>")
    assert done(page, *[Action("scroll", text="down")] * 3)[-1] == "It cannot be scrolled further."
    assert page.evaluate("scrollY") > 0
    page = show("<div id=l style='height:50px;overflow:auto'><div style='height:500px'></div></div>")
    assert done(page, Action("scroll", text="down")) == [""]
    assert page.evaluate("l.scrollTop") == 40
    assert done(show(""), Action("scroll", text="up")) == ["There is nothing to scroll."]


@pytest.mark.parametrize(
    ("body", "action", "problem"),
    [
        ("<p>x</p>", Action("click", "7"), "There is no element 7 on the page."),
        ("<p>x</p>", Action("click", "abc"), "There is no element -1 on the page."),
        ("<p>x</p>", Action("type", "1", "y"), "Element 1 is not a field to type into."),
        ("<input disabled>", Action("type", "1", "y"), "Element 1 cannot be changed."),
        ("<input type=checkbox>", Action("type", "1", "y"), "Element 1 is not a field to type into."),
        ("<p>x</p>", Action("select", "1", "y"), "Element 1 is not a list of options."),
        ("<select><option>A</select>", Action("select", "1", "B"), 'Element 1 has no option "B".'),
        ("<p>x</p>", Action("back"), "There is nothing to do for back on this page."),
    ],
)
def test_what_cannot_be_done_is_said(show, body, action, problem):
    """Every reason is one sentence, and the page stays as it is."""
    assert done(show(body), action) == [problem]


def test_a_covered_element_is_not_clicked(show):
    """What lies under something else cannot be clicked; what covers it is named."""
    cover = "<div id=c style='position:fixed;inset:0;background:red'></div>"
    page = show(f"<button onclick='n=1'>x</button>{cover}", "var n = 0")
    assert done(page, Action("click", "1")) == ["Element 1 is covered by another one, 2."]
    assert page.evaluate("n") == 0


def test_an_element_that_was_hidden_since_is_not_clicked(show):
    """A number from an earlier look at the page may no longer be visible."""
    page = show("<button id=b>x</button>")
    page.ask("observe", 1000, "")
    page.evaluate("b.style.display = 'none'; 0")
    assert perform(page, Action("click", "1")) == "Element 1 is hidden now."


def test_links_and_forms_do_not_leave_the_page(show):
    """A link elsewhere and a form do nothing beyond what the page's own scripts do."""
    page = show("<a href='other.html'>x</a><form><input name=q></form>")
    page.evaluate("window.same = 1")
    assert done(page, Action("click", "1"), Action("type", "2", "a\n")) == ["", ""]
    page.let_pass(1000)
    assert page.evaluate("same") == 1
