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
    best = {"candidate": "a" * 16, "cost": 1.0, "objective": 1.0}
    (tmp_path / "best.py").write_text("a = 1\n")
    split = {"search": {"objective": 1.0, "gap": None}}
    result = SearchResult.model_validate(
        {"status": "done", "best": best, "first": best, "splits": split, "comparisons": {}, "fingerprint": "f" * 16,
         "budget": {"operator": 40, "planned": 40, **meters}, "wall_s": 7.0, "run": str(tmp_path)}
    )  # fmt: skip
    print_result(result, as_json=False)
    assert line in capsys.readouterr().out
