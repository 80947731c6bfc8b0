import pytest
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from coevo.errors import ContentError
from coevo.idioms import IDIOMS
from coevo.skills import Lesson, Skill, SkillSettings
from coevo.skills.quoting import normal
from coevo.skills.skill import SECTIONS, as_section, numbered

WORD = st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1, max_size=8)
LINE = st.one_of(
    st.lists(WORD, min_size=1, max_size=6).map(" ".join).filter(normal),
    st.sampled_from(["a (seen 3)", "- a", "## Open ideas", "# Skill: b", "Version 3", "use: exp", "[worked] (seen 0)"]),
)
LESSON = st.builds(Lesson, st.sampled_from(SECTIONS), LINE, st.integers(1, 999_999_999))


@st.composite
def skills(draw):
    """Any skill."""
    lessons = draw(st.lists(LESSON, max_size=12, unique_by=lambda lesson: normal(lesson.text)))
    lessons.sort(key=lambda lesson: SECTIONS.index(lesson.section))
    blocks = draw(st.lists(st.sampled_from(IDIOMS), unique=True, max_size=6))
    cut = draw(st.integers(0, len(blocks)))
    version = draw(st.integers(0, 999_999_999))
    return Skill(draw(LINE), version, tuple(lessons), tuple(blocks[:cut]), tuple(blocks[cut:]))


@effort(max_examples=50)
@given(skills())
def test_the_text_is_all_there_is_of_a_skill(skill):
    """Printed and parsed, a skill is the same again, and so is its text."""
    assert Skill.parse(skill.text) == skill
    assert Skill.parse(skill.text).text == skill.text


@effort(max_examples=50)
@given(skills())
def test_guidance_holds_the_lessons_and_the_idioms(skill):
    """What prompts are given is the document without title and version; nothing for an empty skill."""
    guidance = skill.guidance()
    assert (guidance.use, guidance.avoid) == (skill.use, skill.avoid)
    assert all(lesson.text in guidance.text for lesson in skill.lessons)
    assert bool(guidance.text) == bool(skill.lessons or skill.use or skill.avoid)
    assert guidance.text in skill.text


@given(st.text(max_size=200))
def test_any_other_text_is_a_content_error(text):
    """A text that is no skill's is refused, never an exception of another kind."""
    try:
        parsed = Skill.parse(text)
    except ContentError:
        return
    assert Skill.parse(parsed.text) == parsed


def test_a_skill_looks_like_this():
    """The document, line by line."""
    skill = Skill("tsp", 2, (Lesson("worked", "Look ahead.", 3), Lesson("open", "Try angles.", 1)), ("exp",), ())
    assert skill.text == (
        "# Skill: tsp\nVersion 2\n\n## Building blocks\n- use: exp\n\n## What has worked\n- Look ahead. (seen 3)\n\n"
        "## Open ideas\n- Try angles. (seen 1)\n"
    )
    assert skill.listing() == "1. [worked] Look ahead. (seen 3)\n2. [open] Try angles. (seen 1)"
    assert Skill("tsp").listing() == "(no lessons yet)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "line 1"),
        ("# Skill: tsp\n", "line 2"),
        ("# Skill: tsp\nVersion 1\nhello\n", "line 3: expected a heading or a lesson"),
        ("# Skill: tsp\nVersion 1\n\n## Secrets\n- a b (seen 1)\n", "line 4: expected a heading"),
        ("# Skill: tsp\nVersion 1\n\n## Open ideas\n- a b\n", "line 5: expected a heading or a lesson"),
        ("# Skill: tsp\nVersion 1\n\n## Open ideas\n- a b (seen 0)\n", "line 5: expected evidence"),
        ("# Skill: tsp\nVersion 1\n\n## Open ideas\n- A (seen 1)\n- a (seen 1)\n", "differ in their words"),
        ("# Skill: tsp\nVersion 1\n\n## Building blocks\n- use: magic\n", "idioms of"),
        ("# Skill: tsp\nVersion 1\n\n## Building blocks\n- use: exp\n- avoid: exp\n", "different idioms"),
    ],
)
def test_a_fault_is_named_with_its_line(text, expected):
    """What is wrong with a skill's text is said in one line."""
    with pytest.raises(ContentError, match=expected):
        Skill.parse(text)


@pytest.mark.parametrize("text", ["", "two\nlines", "a  b", " a", "tab\there", "null\0", "!!!", "\u202e reversed"])
def test_a_lesson_is_one_printable_line(text):
    """What is not one printable line with words in it is no lesson."""
    with pytest.raises(ValueError, match="expected a lesson of one printable line"):
        Lesson("worked", text, 1)


def test_lessons_are_section_by_section():
    """A skill whose lessons jump between sections could not be parsed again, so it cannot be made."""
    with pytest.raises(ValueError, match="section by section"):
        Skill("t", 0, (Lesson("open", "a", 1), Lesson("worked", "b", 1)))


@effort(max_examples=50)
@given(skills(), st.integers(16, 40), st.integers(1000, 2000))
def test_fitting_counts_lines_and_characters(skill, lines, chars):
    """A skill fits if its file has no more lines and characters than allowed."""
    fits = skill.fits(SkillSettings(max_lines=lines, max_chars=chars))
    assert fits == (len(skill.text.split("\n")) - 1 <= lines and len(skill.text) <= chars)


def test_sections_and_numbers_are_looked_up():
    """Keys and headings name a section however they are written; numbers count from 1."""
    assert [as_section(n) for n in ("Worked", "WHAT HAS FAILED", "open ideas", "x")] == [
        "worked",
        "failed",
        "open",
        None,
    ]
    skill = Skill("t", 0, (Lesson("worked", "a", 1),))
    assert [numbered(skill, n) for n in (0, 1, 2, -1)] == [None, skill.lessons[0], None, None]
    assert skill.find("A!") == skill.lessons[0]
    assert skill.find("b") is None
