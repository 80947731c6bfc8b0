import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.skills import Lesson, Skill
from coevo.skills.answers import lesson_patch, merged_patch, read_answer
from coevo.skills.patch import Edit

SKILL = Skill("t", 1, (Lesson("worked", "One.", 1), Lesson("failed", "Two.", 1)))


def edits(text):
    """What an answer is read as: kind, section, target, text and sources of each edit."""
    lines = read_answer(SKILL, text).lines
    return [(x.edit.kind, x.edit.section or x.edit.target, x.edit.text, x.sources) for x in lines]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ADD worked: Do it.", [("add", "worked", "Do it.", ())]),
        ("- **ADD worked:** Do it.", [("add", "worked", "Do it.", ())]),
        ("1. ADD failed: Do: it. FROM 1, 4", [("add", "failed", "Do: it.", (1, 4))]),
        ("> `ADD open: Do it. [2]`", [("add", "open", "Do it. [2]", ())]),
        ("ADD open: Do it. [2, 3]", [("add", "open", "Do it.", (2, 3))]),
        ("ADD open: Do it (from edits 2 and 3).", [("add", "open", "Do it", (2, 3))]),
        ("add What has worked: Do it.", [("add", "worked", "Do it.", ())]),
        ("ADD to open ideas: \"Do it.\"", [("add", "open", "Do it.", ())]),
        ("ADD secrets: Do it.", [("add", "secrets", "Do it.", ())]),
        ("Add a penalty: it helps.", []),
        ("REPLACE 2: Better.", [("replace", "Two.", "Better.", ())]),
        ("Replace lesson 1 with Better. FROM 3", [("replace", "One.", "Better.", (3,))]),
        ("REPLACE 9: Better.", [("replace", "lesson 9", "Better.", ())]),
        ("DROP 1", [("drop", "One.", "", ())]),
        ("drop L2.", [("drop", "Two.", "", ())]),
        ("DROP 2 because it is wrong", [("drop", "Two.", "", ())]),
        ("Drop 2 of the nodes first.", []),
        ("Sure! Here:\n\nADD worked: A.\nI hope so.\nDROP 1", [("add", "worked", "A.", ()), ("drop", "One.", "", ())]),
        ("<think>\nADD worked: no\n</think>\nADD worked: yes", [("add", "worked", "yes", ())]),
        ("NONE", []),
        ("", []),
    ],
)  # fmt: skip
def test_answers_are_read_line_by_line(text, expected):
    """Edits are found in any prose, however they are decorated, and prose is not taken for edits."""
    assert edits(text) == expected


@pytest.mark.parametrize(
    ("text", "is_readable"),
    [("NONE", True), ("I see nothing.\n**None.**", True), ("DROP 1", True), ("", False), ("None of them helps", False)],
)
def test_an_answer_without_edit_says_none_or_is_not_readable(text, is_readable):
    """Silence is not NONE."""
    assert read_answer(SKILL, text).is_readable is is_readable


@given(st.text(max_size=300) | st.text("ADREPLCOFM123:[], \n", max_size=100))
def test_reading_never_raises(text):
    """Any answer is read."""
    assert isinstance(read_answer(SKILL, text).is_readable, bool)


def test_one_trace_gives_at_most_three_edits():
    """The first three edits rest on the trace; more are rejected."""
    patch, rejected = lesson_patch("7", read_answer(SKILL, "\n".join(f"ADD open: idea {n}" for n in range(5))))
    assert [(e.text, e.evidence) for e in patch.edits] == [(f"idea {n}", ("7",)) for n in range(3)]
    assert [r.reason for r in rejected] == ["more than 3 edits from one trace"] * 2


MERGED = (
    Edit("add", "worked", text="A.", evidence=("t1", "t2")),
    Edit("add", "worked", text="B.", evidence=("t3",)),
    Edit("drop", target="One.", evidence=("t4",)),
)


def merge(text, most=9):
    """The edits of a merge as (text or target, evidence), and the reasons of what was rejected."""
    patch, rejected = merged_patch(MERGED, read_answer(SKILL, text), most)
    return [(e.text or e.target, e.evidence) for e in patch.edits], [(r.edit, r.reason) for r in rejected]


def test_a_merged_edit_rests_on_what_it_was_made_of():
    """Evidence of a merged edit is that of its sources; what no edit was made of is reported."""
    kept, rejected = merge("ADD worked: A and B. FROM 1, 2")
    assert kept == [("A and B.", ("t1", "t2", "t3"))]
    assert rejected == [("drop 'One.'", "left out by the merge")]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ADD worked: Invented.", "does not say which edits it was made of"),
        ("ADD worked: Invented. FROM 4", "there is no edit 4 among 3"),
        ("ADD worked: Invented. FROM 0", "there is no edit 0 among 3"),
        ("DROP 2 FROM 1", "none of the edits it was made of changes that lesson"),
        ("REPLACE 2: New. FROM 3", "none of the edits it was made of changes that lesson"),
    ],
)
def test_a_merge_cannot_invent(text, reason):
    """An edit without sources, with others than there are, or of a lesson that none of them changes is refused."""
    kept, rejected = merge(text)
    assert kept == []
    assert rejected[0][1] == reason


def test_an_edit_repeated_word_for_word_needs_no_source():
    """A model that copies an edit and forgets its number is understood."""
    kept, _ = merge("ADD worked: a\nDROP 1")
    assert kept == [("a", ("t1", "t2")), ("One.", ("t4",))]


def test_a_merge_is_bounded():
    """Edits past the bound are rejected."""
    kept, rejected = merge("ADD worked: A. FROM 1\nADD worked: B. FROM 2\nDROP 1 FROM 3", most=2)
    assert len(kept) == 2
    assert rejected == [("drop 'One.'", "more than 2 edits in one merge")]
