from hypothesis import given
from hypothesis import strategies as st

from coevo.reporting.diffs import MAX_LINES, MAX_WIDTH, diff, whole
from coevo.reporting.story import DiffLine

programs = st.lists(st.sampled_from(["a = 1", "b = 2", "", "- c", "+ d"]), max_size=12).map(
    lambda lines: "".join(f"{line}\n" for line in lines)
)


def test_a_changed_line():
    """One line removed, one added, the rest around them the same."""
    lines, note = diff("a\nb\nc\n", "a\nB\nc\n")
    assert [(line.kind, line.text) for line in lines] == [(" ", "a"), ("-", "b"), ("+", "B"), (" ", "c")]
    assert note == ""


@given(programs, programs)
def test_added_and_removed_lines_account_for_the_lengths(old, new):
    """What is added less what is removed is how many lines longer the new text is; equal texts have no lines."""
    lines, _ = diff(old, new)
    kinds = [line.kind for line in lines]
    assert kinds.count("+") - kinds.count("-") == new.count("\n") - old.count("\n")
    assert bool(lines) == (old != new)


@given(programs, programs)
def test_every_line_comes_from_its_text(old, new):
    """Removed lines are the old text's, added ones the new text's, and others both's."""
    before, after = old.split("\n"), new.split("\n")
    for line in diff(old, new)[0]:
        assert line.kind == "@" or line.text in (before if line.kind == "-" else after)


def test_only_newlines_end_a_line():
    """A separator of Unicode's stays inside its line."""
    lines, _ = diff("", "a\u2028b\x0cc\n")
    assert lines == (DiffLine("+", "a\u2028b\x0cc"),)


def test_long_texts_are_not_compared():
    """A text of very many lines is left alone and the note says so; a very long line is cut."""
    lines, note = diff("a\n", "b\n" * (MAX_LINES + 1))
    assert (lines, note) == ((), f"not compared: more than {MAX_LINES} lines")
    lines, note = diff("a\n", "b" * 1_000_000)
    assert [len(line.text) for line in lines] == [1, MAX_WIDTH]
    assert "cut after" in note


def test_a_text_with_nothing_to_compare_with_is_new():
    """Every line is added, as many as are shown."""
    lines, note = whole("a\n\nb\n")
    assert [(line.kind, line.text) for line in lines] == [("+", "a"), ("+", ""), ("+", "b")]
    assert note == ""
    lines, note = whole("a\n" * (MAX_LINES + 5))
    assert (len(lines), note) == (MAX_LINES, "5 more lines are not shown")
