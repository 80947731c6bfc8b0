import pytest

from coevo.authoring.checks_text import description, metadata, prompts


def test_the_scaffold_says_everything(scaffold):
    """Its metadata, its description and its prompts are fine."""
    for check in (metadata, description, prompts):
        assert check(scaffold).status == "ok"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('name = "variant"', 'name = "other"', "the folder is called variant, problem.toml says name = 'other'"),
        ('licence = "CC0-1.0"', 'licence = " "', "nothing is said in problem.toml under licence"),
        ('description = "hours left of the day"', 'description = ""', "under hours_left.description"),
        ('val = "16 other days of 40 open jobs"', 'val = ""', "under splits.val"),
        ('name = "values"', 'name = "durations"', "two arguments of choose_job have the same name"),
        ('name = "values"', 'name = "lambda"', "lambda cannot be a name in Python"),
    ],
)
def test_incomplete_metadata_fails(variant, old, new, words):
    """Each gap is named with its field."""
    finding = metadata(variant(("problem.toml", old, new)))
    assert finding.status == "failed"
    assert words in finding.text


def test_a_short_description_fails(variant):
    """A model cannot work with a title."""
    folder = variant()
    (folder.path / "description.md").write_text("Choose jobs.")
    finding = description(type(folder)(folder.path, folder.spec, "Choose jobs."))
    assert finding.status == "failed"
    assert "12 characters" in finding.text


def test_a_description_with_code_fails(variant):
    """What gives code away makes every candidate a copy."""
    folder = variant(("description.md", "\n\n", "\n\n```python\nreturn 1\n```\n\n"))
    assert description(folder).status == "failed"


def test_a_baseline_that_slots_cannot_show_is_named(variant):
    """A heuristic that leans on another function is no failure, but the embedded model never sees it."""
    code = "def best(x):\n    return x.argmax()\n\n\ndef choose_job(a, b, c):\n    return best(c * (b <= a))\n"
    finding = prompts(variant(baseline=code))
    assert finding.status == "ok"
    assert "cannot be shown another (choose_job leans on ['best']" in finding.text
