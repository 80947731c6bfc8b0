import pytest

from coevo.errors import ContentError
from coevo.evolution.operators import load_operators
from coevo.skills import load_prompts
from coevo.skills.prompts import PLACEHOLDERS, read_prompt

GOOD = '+++\nname = "skill_lesson"\n+++\n$task\n$skill\n$trace\n$lesson_chars $$\n'


def write(tmp_path, text, name="skill_lesson.md"):
    """A prompt file with this text."""
    file = tmp_path / name
    file.write_text(text)
    return file


def test_all_prompts_ship():
    """Every prompt that the analyst asks with is there, and takes its values."""
    prompts = load_prompts()
    assert set(prompts) == set(PLACEHOLDERS)
    for name, prompt in prompts.items():
        values = {key: f"<{key}> $task" for key in PLACEHOLDERS[name]}
        text = prompt.fill(values)
        assert all(value in text for value in values.values())


def test_operators_load_beside_them():
    """The prompts of skills in the same folder do not disturb those of operators."""
    assert set(load_operators(("i1", "m1"))) == {"i1", "m1"}


def test_a_good_file_loads(tmp_path):
    """What is filled in is not read for placeholders again, and $$ is a dollar sign."""
    prompt = read_prompt(write(tmp_path, GOOD))
    assert prompt.fill({"task": "$skill", "skill": "S", "trace": "T", "lesson_chars": "9"}) == "$skill\nS\nT\n9 $\n"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("$trace", "$trail"), r":6: unknown placeholder \$trail; known are \$lesson_chars, \$skill"),
        (("$task", "costs 5$ only"), r":4: a lone \$"),
        (("$trace\n", ""), r"the prompt needs \$trace"),
        (("skill_lesson", "skill_merge"), r"expected name = 'skill_lesson'"),
        (('name = "skill_lesson"', "name = 1x"), r"front matter is not valid TOML"),
        (
            ('name = "skill_lesson"', 'name = "skill_lesson"\nparents = 1'),
            r"front matter: parents: there is no such field",
        ),
        (("+++\n", "---\n"), r":1: expected TOML front matter"),
    ],
)
def test_a_bad_file_names_itself_and_its_line(tmp_path, change, expected):
    """Every fault of a prompt file is found when it is loaded."""
    file = write(tmp_path, GOOD.replace(*change))
    with pytest.raises(ContentError, match=expected) as error:
        read_prompt(file)
    assert str(file) in str(error.value)


def test_a_name_that_nobody_asks_with_is_refused(tmp_path):
    """A prompt file has one of the known names."""
    with pytest.raises(ContentError, match="one of skill_lesson, skill_failure, skill_merge"):
        read_prompt(write(tmp_path, GOOD.replace("skill_lesson", "skill_x"), "skill_x.md"))
