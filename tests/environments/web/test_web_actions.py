"""The action language: what is read, what is refused, and that nothing raises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.environments.web.actions import KEYS, TEXT_CHARS, Action, read_action

ELEMENTS = st.integers(0, 10**6).map(str)
TAGGED = st.lists(st.sampled_from(["</think>", "<think>", "a", '"', "\\", ")", ",", "\n", "`", "é"]), max_size=8)
TEXTS = st.one_of(st.text(max_size=80), TAGGED.map("".join))
"""Whatever can be written down, the tags of thoughts included."""
SPELT = st.lists(
    st.sampled_from(
        ["\\ud800", "\\udfff", "\\\\ud800", "\ud800", "\\ud83d\\ude00", "\\u0000", "\\", '"', "'", "a", "</think>"]
    )
).map("".join)
"""Text in which JSON, or the text itself, holds half of a surrogate pair."""
ACTIONS = st.one_of(
    st.builds(Action, st.sampled_from(["click", "hover"]), ELEMENTS),
    st.builds(Action, st.sampled_from(["type", "select"]), ELEMENTS, TEXTS),
    st.builds(Action, st.just("press"), st.just(""), st.sampled_from(KEYS)),
    st.builds(Action, st.just("scroll"), st.just(""), st.sampled_from(["up", "down"])),
    st.builds(Action, st.just("answer"), st.just(""), TEXTS),
    st.builds(Action, st.sampled_from(["stop", "back", "forward"])),
)


THOUGHTS = st.lists(st.sampled_from(["click(1)", "stop", "</think>", "<think>", "\n", "hm ", "("]), max_size=6).map(
    "".join
)


@given(ACTIONS)
def test_an_action_that_is_written_out_is_read_back(action):
    """Law: reading the written form of any action gives that action, whatever its text holds."""
    assert read_action(str(action)) == action


@given(ACTIONS, st.text(st.characters(), max_size=40) | THOUGHTS)
def test_what_is_thought_before_an_action_does_not_matter(action, thoughts):
    """Law: an action on the last line, or on it behind the end of thoughts, is read whatever was thought before."""
    assert read_action(f"{thoughts}\n{action}") == action
    assert read_action(f"{thoughts}</think>\n{action}") == action
    assert read_action(f"<think>{thoughts}</think>{action}") == action


@given(st.text(st.characters(), max_size=300) | SPELT)
def test_nothing_an_agent_says_raises(text):
    """Any text is an action or a sentence about what is wrong with it, and can be encoded."""
    for answer in (text, f'answer("{text}")', f"select(1, '{text}')", f'type(1, "{text}', f"press({text})"):
        read = read_action(answer)
        assert isinstance(read, Action | str)
        assert str(read).encode()


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("I should press the button.\nclick(3)", Action("click", "3")),
        ("<think>click(1)</think>\n\nAction: CLICK( 3 )\n", Action("click", "3")),
        ("<think>click(1)</think>click(2)", Action("click", "2")),
        ("click(1)</think>", None),
        ("click(1)\n</think>", None),
        ('so</think> type(3, "</think>")', Action("type", "3", "</think>")),
        ('type(3, "a")</think>`type(4, "b")`', Action("type", "4", "b")),
        ('answer("\\ud83d\\ude00 \\ud800")', Action("answer", text="😀 ?")),
        ("```\ntype(4, 'it''s')\n```", None),
        ("```\ntype(4, 'it\\'s \"so\"')\n```", Action("type", "4", 'it\'s "so"')),
        ("`hover([a12])`", Action("hover", "a12")),
        ('click("7");', Action("click", "7")),
        ('type(4, "a, b) \\"c\\"\\n")', Action("type", "4", 'a, b) "c"\n')),
        ('type(4, "")', Action("type", "4", "")),
        ("press(enter)", Action("press", text="Enter")),
        ("press(a)", Action("press", text="a")),
        ('scroll("Down")', Action("scroll", text="down")),
        ("stop", Action("stop")),
        ("stop()", Action("stop")),
    ],
)
def test_what_is_read_from_the_last_line(text, action):
    """Only the last line counts, in any of the usual wrappings; quotes may be escaped and nothing else doubled."""
    read = read_action(text)
    assert read == action if action else isinstance(read, str)


@pytest.mark.parametrize(
    "text",
    [
        *("", "   \n", "click", "click()", "click(1, 2)", "click(-1)", "click(1", "click(3) then stop.", "clack(3)"),
        *("type(3)", "type(3, )", "type(3, two words)", "press(Nothing)", "press( )", "scroll(left)", "stop(1)"),
        *("answer()", 'type("x y", "z")', f'type(1, "{"x" * (TEXT_CHARS + 1)}")', "click(3)\nDone!", "\0" * 9),
    ],
)
def test_what_cannot_be_read_is_answered_with_one_sentence(text):
    """Anything else is answered, on one line that does not repeat what was said."""
    read = read_action(text)
    assert isinstance(read, str)
    assert "\n" not in read
    assert len(read) < 300


def test_an_endless_answer_is_read_at_its_end():
    """Of an answer of megabytes only the end is looked at."""
    assert read_action("x" * 10_000_000 + "\nclick(1)") == Action("click", "1")
