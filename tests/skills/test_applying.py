from hypothesis import given
from hypothesis import strategies as st

from coevo.skills import Lesson, Skill, SkillSettings
from coevo.skills.applying import apply
from coevo.skills.patch import Edit, Hints, Patch

SKILL = Skill("tiny", 4, (Lesson("worked", "One.", 3), Lesson("worked", "Two.", 1), Lesson("failed", "Three.", 2)))
SETTINGS = SkillSettings()

EVIDENCE = st.lists(st.sampled_from("abcdef"), min_size=1, unique=True).map(lambda ids: tuple(sorted(ids)))
TEXT = st.sampled_from(["Two.", "Four.", "Five", "five!", "Six."])
TARGET = st.sampled_from(["One.", "Two.", "Three.", "three"])
EDIT = st.one_of(
    st.builds(Edit, st.just("add"), st.sampled_from(["worked", "failed", "open"]), text=TEXT, evidence=EVIDENCE),
    st.builds(Edit, st.just("replace"), target=TARGET, text=TEXT, evidence=EVIDENCE),
    st.builds(Edit, st.just("drop"), target=TARGET, evidence=EVIDENCE),
)


def change(*edits, skill=SKILL, settings=SETTINGS, hints=None):
    """The lessons after a patch as (section, text, evidence), and the reasons of what was rejected."""
    changed, rejected = apply(skill, Patch(edits, hints), settings)
    lessons = [(lesson.section, lesson.text, lesson.evidence) for lesson in changed.lessons]
    return lessons, [rejection.reason for rejection in rejected]


def test_edits_are_put_in():
    """Added, replaced and dropped lessons are where they belong, with evidence handed on."""
    lessons, rejected = change(
        Edit("add", "open", text="Four.", evidence=("a",)),
        Edit("replace", target="One.", text="One and a half.", evidence=("a", "b")),
        Edit("drop", target="Two.", evidence=("c",)),
    )
    assert lessons == [("worked", "One and a half.", 5), ("failed", "Three.", 2), ("open", "Four.", 1)]
    assert rejected == []


def test_a_lesson_met_again_gains_evidence():
    """Adding what stands there confirms it, in its old wording; under another section it is a duplicate."""
    lessons, rejected = change(
        Edit("add", "worked", text="TWO", evidence=("a", "b", "c")), Edit("add", "open", text="three", evidence=("a",))
    )
    assert lessons == [("worked", "Two.", 4), ("worked", "One.", 3), ("failed", "Three.", 2)]
    assert rejected == ["duplicate: the skill has a lesson with these words under failed"]


def test_conflicting_edits_of_one_line_are_held_back():
    """Of two different edits of a line that with more evidence stays; with equal evidence, none."""
    one = Edit("replace", target="One.", text="Uno.", evidence=("a",))
    other = Edit("drop", target="one", evidence=("b",))
    lessons, rejected = change(one, other)
    assert lessons == [("worked", "One.", 3), ("worked", "Two.", 1), ("failed", "Three.", 2)]
    assert rejected == ["conflicts with another edit of the same lesson"] * 2
    lessons, rejected = change(one, Edit("drop", target="One.", evidence=("b", "c")))
    assert ("worked", "One.", 3) not in lessons
    assert rejected == ["conflicts with another edit of the same lesson"]


def test_the_same_edit_twice_is_no_conflict():
    """Equal edits of a line are one edit with the evidence of both."""
    edits = [Edit("replace", target="One.", text="Uno.", evidence=(name,)) for name in "ab"]
    assert change(*edits) == ([("worked", "Uno.", 5), ("worked", "Two.", 1), ("failed", "Three.", 2)], [])


def test_a_replacement_may_not_repeat_another_lesson():
    """A lesson cannot be turned into one that is there already."""
    lessons, rejected = change(Edit("replace", target="One.", text="two", evidence=("a",)))
    assert ("worked", "One.", 3) in lessons
    assert rejected == ["duplicate: the skill has a lesson with these words"]


def test_dropped_and_added_counts_anew():
    """A lesson that is dropped and added has the evidence of the new edit alone."""
    edits = (Edit("drop", target="One.", evidence=("a",)), Edit("add", "worked", text="One.", evidence=("a",)))
    assert ("worked", "One.", 1) in change(*edits)[0]


@given(st.lists(EDIT, max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_edits_does_not_matter(edits, chance):
    """A patch is a set of edits."""
    shuffled = list(edits)
    chance.shuffle(shuffled)
    first, second = (apply(SKILL, Patch(tuple(each)), SETTINGS) for each in (edits, shuffled))
    assert first[0] == second[0]
    assert sorted(r.edit for r in first[1]) == sorted(r.edit for r in second[1])


@given(st.lists(EDIT, max_size=8))
def test_every_edit_is_in_the_skill_or_rejected(edits):
    """No edit is lost without a word."""
    changed, rejected = apply(SKILL, Patch(tuple(edits)), SETTINGS)
    refused = {rejection.edit for rejection in rejected}
    for edit in edits:
        done = changed.find(edit.target) is None if edit.kind == "drop" else changed.find(edit.text) is not None
        # Of texts with the same words one stands for all, so that its rejection is theirs.
        same = {str(other) for other in edits if other.key == edit.key}
        readded = edit.kind == "drop" and any(o.kind != "drop" and o.key[3] == edit.key[2] for o in edits)
        assert done or refused & same or readded


def test_without_a_change_the_skill_is_the_same():
    """A patch that changes nothing makes no version; one that changes something makes the next."""
    assert apply(SKILL, Patch(), SETTINGS)[0] is SKILL
    assert apply(SKILL, Patch((Edit("drop", target="Nine.", evidence=("a",)),)), SETTINGS)[0] is SKILL
    changed, _ = apply(SKILL, Patch((Edit("drop", target="One.", evidence=("a",)),)), SETTINGS)
    assert changed.version == 5


def test_hints_replace_the_old_ones():
    """Hints take the place of the skill's idioms; unknown and contradictory ones are refused; none leaves them."""
    start, _ = apply(SKILL, Patch((), Hints(("exp", "exp", "magic"), ("log", "abs"))), SETTINGS)
    assert (start.use, start.avoid) == (("exp",), ("log", "abs"))
    edit = Edit("drop", target="One.", evidence=("a",))
    kept, _ = apply(start, Patch((edit,)), SETTINGS)
    assert (kept.use, kept.avoid) == (("exp",), ("log", "abs"))
    changed, rejected = apply(start, Patch((), Hints(("abs", "log"), ("log",))), SETTINGS)
    assert (changed.use, changed.avoid) == (("abs",), ())
    assert [(r.edit, r.reason) for r in rejected] == [("hint 'log'", "both to use and to avoid")]


LONG = st.integers(1, 400).map(lambda n: f"lesson {n} " + "word " * (n % 30) + "end")
MANY = st.lists(
    st.builds(Edit, st.just("add"), st.sampled_from(["worked", "failed", "open"]), text=LONG, evidence=EVIDENCE),
    max_size=120,
)


@given(MANY, st.integers(16, 100), st.integers(1000, 8000))
def test_the_bounds_hold_whatever_the_patch(edits, lines, chars):
    """However much is added, the document keeps its lines and characters, and what found no room is told."""
    settings = SkillSettings(max_lines=lines, max_chars=chars)
    changed, rejected = apply(SKILL, Patch(tuple(edits), Hints(("exp", "log", "abs"), ("sum", "max"))), settings)
    assert changed.fits(settings)
    wanted = {lesson.text for lesson in SKILL.lessons} | {edit.text for edit in edits}
    assert len(changed.lessons) + sum("no room" in r.reason for r in rejected) == len(wanted)


def test_what_was_seen_least_gives_way():
    """Where there is no room, lessons of least evidence go, old before new where they are equal."""
    settings = SkillSettings(max_lines=16)
    old = Skill("t", 1, tuple(Lesson("worked", f"older {n}", 1 + (n < 3)) for n in range(12)))
    news = [Edit("add", "worked", text=f"recent {n}", evidence=("a",)) for n in range(10)]
    changed, rejected = apply(old, Patch(tuple(news)), settings)
    assert [lesson.text for lesson in changed.lessons][:3] == ["older 0", "older 1", "older 2"]
    assert {lesson.text for lesson in changed.lessons[3:]} < {f"recent {n}" for n in range(10)}
    assert all(r.reason == "no room within 16 lines and 4000 characters" for r in rejected)
    assert len(rejected) == 22 - len(changed.lessons)
