"""What a finished search prints."""

import pytest

from coevo.cli.summary import print_result
from coevo.searching.result import SearchResult


@pytest.mark.parametrize(
    ("meters", "line"),
    [
        ({}, "done: 40 of 40 completions, 7 s, "),
        ({"skill": 12}, "done: 40 of 40 completions, 12 for the skill, 7 s, "),
        ({"on_top": 10, "skill": 3}, "done: 40 of 40 completions, 10 on top, 3 for the skill, 7 s, "),
    ],
)
def test_every_meter_that_ran_is_printed(meters, line, tmp_path, capsys):
    """What the skill cost, and what a recipe charges on top, stand beside the budget; a meter at 0 does not."""
    print_result(result_in(tmp_path, budget={"operator": 40, "planned": 40, **meters}), as_json=False)
    assert line in capsys.readouterr().out


@pytest.mark.parametrize(("fingerprint", "is_said"), [("f" * 16, True), ("0" * 16, False)])
def test_weights_that_nobody_has_have_no_fingerprint(fingerprint, is_said, tmp_path, capsys):
    """Those of a model behind a server, and of the grammar."""
    print_result(result_in(tmp_path, fingerprint=fingerprint), as_json=False)
    said = capsys.readouterr().out
    assert "done: 40 of 40 completions, 7 s" in said
    assert ("fingerprint" in said) == is_said


def result_in(folder, **values):
    """A finished search whose best heuristic lies in a folder."""
    best = {"candidate": "a" * 16, "cost": 1.0, "objective": 1.0}
    (folder / "best.py").write_text("a = 1\n")
    fixed = {"status": "done", "best": best, "first": best, "comparisons": {}, "wall_s": 7.0, "run": str(folder)}
    told = {"fingerprint": "f" * 16, "budget": {"operator": 40, "planned": 40}, **values}
    return SearchResult.model_validate({"splits": {"search": {"objective": 1.0, "gap": None}}, **fixed, **told})


@pytest.mark.parametrize(("version", "is_said"), [(0, True), (2, False)])
def test_a_skill_that_was_not_learned_is_said(version, is_said, tmp_path, capsys):
    """Version 0 is the skill before any lesson; without the flag there is no skill, and no word."""
    print_result(result_in(tmp_path), as_json=False)
    assert "no lesson" not in capsys.readouterr().out
    (tmp_path / "SKILL.md").write_text(f"# Skill: tsp\nVersion {version}\n")
    print_result(result_in(tmp_path), as_json=False)
    assert ("no lesson was learned" in capsys.readouterr().out) == is_said


def test_a_capped_search_says_that_it_was_stopped(tmp_path, capsys):
    """Not only the name of the status, which reads like the heading of a sum."""
    print_result(result_in(tmp_path, status="cost"), as_json=False)
    said = capsys.readouterr().out
    assert "stopped at the cap on cost: 40 of 40 completions" in said
    assert "--max-cost MORE" in said


@pytest.mark.parametrize(("splits", "name"), [(("search", "val"), "best on val"), (("search",), "best")])
def test_the_table_says_what_best_means(splits, name, tmp_path, capsys):
    """The heuristic handed over is chosen on `val`, where there is one."""
    print_result(
        result_in(tmp_path, splits={split: {"objective": 1.0, "gap": None} for split in splits}), as_json=False
    )
    rows = [line.split("   ")[0].strip() for line in capsys.readouterr().out.splitlines()]
    assert [row for row in rows if row in ("best", "best on val")] == [name]


@pytest.mark.parametrize(
    ("lowest", "words"),
    [
        ("a", "to 1 on search, after 30 completions\n"),
        ("c", "to 1 on search (lowest: 0.5, after 30 completions)\n"),
        ("", "to 1 on search\n"),
    ],
)
def test_where_progress_ended_is_said(lowest, words, tmp_path, capsys):
    """Of the lowest cost, which another candidate may have than the one handed over; an older result does not know."""
    first = {"candidate": "b" * 16, "cost": 2.0, "objective": 2.0}
    own = {"candidate": lowest * 16, "cost": 1.0 if lowest == "a" else 0.5, "objective": 1.0 if lowest == "a" else 0.5}
    told = {"lowest": own, "lowest_after": 30} if lowest else {}
    print_result(result_in(tmp_path, first=first, **told), as_json=False)
    assert words in capsys.readouterr().out


@pytest.mark.parametrize(("steps", "words"), [(0, "f\n"), (2, "f, moved by 0 of 2 steps\n")])
def test_a_model_that_no_step_moved_is_told_as_such(steps, words, tmp_path, capsys):
    """Steps whose rewards are all equal leave it where it was."""
    print_result(result_in(tmp_path, steps=steps), as_json=False)
    assert words in capsys.readouterr().out
