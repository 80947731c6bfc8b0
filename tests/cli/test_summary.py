"""What a finished search prints."""

import pytest

from coevo.cli.summary import print_result
from coevo.searching.result import SearchResult


@pytest.mark.parametrize(
    ("meters", "line"),
    [
        ({}, "done: 40 of 40 completions, 7 s"),
        ({"skill": 12}, "done: 40 of 40 completions, 12 for the skill, 7 s"),
        ({"on_top": 10, "skill": 3}, "done: 40 of 40 completions, 10 on top, 3 for the skill, 7 s"),
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
