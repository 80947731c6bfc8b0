from dataclasses import replace

import pytest

from coevo.experiments.bench import rows_of
from coevo.experiments.results import compare, overall, row_for

TEST50 = '[test_splits]\ntsp = ["test50"]\n'
TOTAL = 'baseline = "frozen"\ncompare_at = ["operator", "total"]'
SKILLS = "[arms.skills]\nskill_every = 2\n"


@pytest.fixture
def grid(layout, grid_text):
    """The small grid, on one test split."""
    return layout(grid_text + TEST50)


@pytest.fixture
def rows(grid, fill, tmp_path):
    """Its cells: with seed 0 ES is better by 1, with seed 1 by 3."""
    fill(tmp_path, grid, lambda cell: 6.0 + cell.seed - (cell.arm == "es") * (1 + 2 * cell.seed))
    return rows_of(tmp_path, grid)


def test_a_comparison_is_paired_by_seed(grid, rows):
    """Means, gaps and differences by hand."""
    (result,) = compare(grid, rows)
    assert (result.mean_arm, result.mean_baseline, result.seeds) == (6.5, 8.5, 2)
    assert (result.paired.mean, result.paired.wins, result.outcome) == (2.0, 2, "win")
    assert (result.gap_arm, result.gap_baseline) == (pytest.approx(0.3), pytest.approx(0.7))
    assert result.gap_gain == pytest.approx(0.7 / 0.3 - 1)
    (counted,) = overall([result])
    assert (counted.arm, counted.baseline, counted.wins, counted.losses, counted.p) == ("es", "frozen", 1, 0, 1.0)


def test_a_seed_without_both_cells_is_left_out(grid, rows):
    """A failed cell takes its pair with it, and the count says so."""
    rows = [replace(row, state="failed") if (row.arm, row.seed) == ("es", 0) else row for row in rows]
    (result,) = compare(grid, rows)
    assert (result.seeds, result.paired.count, result.mean_baseline) == (1, 1, 9.0)
    assert (result.paired.low, result.paired.sd) == (None, None)


def emptied(rows, *cells):
    """Rows of which some found nothing; each is an arm and a seed."""
    return [replace(row, objectives={}, gaps={}) if (row.arm, row.seed) in cells else row for row in rows]


def test_a_run_that_found_nothing_loses_its_pair_and_the_comparison(grid, rows):
    """It has no value, so its arm has no mean, whatever the other seeds came to."""
    (result,) = compare(grid, emptied(rows, ("es", 0)))
    assert (result.seeds, result.paired.count, result.paired.wins, result.paired.losses) == (2, 1, 1, 1)
    assert (result.mean_arm, result.mean_baseline, result.outcome) == (None, 8.5, "loss")
    assert (result.gap_arm, result.gap_gain) == (None, None)
    (result,) = compare(grid, emptied(rows, ("frozen", 1)))
    assert (result.mean_baseline, result.outcome, result.gap_gain) == (None, "win", None)


def test_an_arm_that_finds_nothing_anywhere_loses(grid, rows):
    """It stays in the count of wins, ties and losses; so does a baseline that finds nothing."""
    everywhere = [("es", 0), ("es", 1)]
    (counted,) = overall(compare(grid, emptied(rows, *everywhere)))
    assert (counted.wins, counted.ties, counted.losses) == (0, 0, 1)
    (counted,) = overall(compare(grid, emptied(rows, ("frozen", 0), ("frozen", 1))))
    assert (counted.wins, counted.ties, counted.losses) == (1, 0, 0)


def test_where_neither_side_is_whole_the_seeds_decide(grid, rows):
    """More seeds won wins; none won by either is a tie."""
    (result,) = compare(grid, emptied(rows, ("es", 0), ("frozen", 0), ("frozen", 1)))
    assert (result.paired.wins, result.paired.ties, result.outcome) == (1, 1, "win")
    (result,) = compare(grid, emptied(rows, ("es", 0), ("frozen", 1)))
    assert (result.paired.wins, result.paired.losses, result.outcome) == (1, 1, "tie")


def test_without_any_pair_there_is_no_outcome(grid):
    """A grid that has not run is all dashes."""
    (result,) = compare(grid, [])
    assert (result.seeds, result.mean_arm, result.paired.mean, result.outcome, result.gap_gain) == (0, *[None] * 4)


def test_a_maximised_objective_turns_the_difference(layout, grid_text, fill, tmp_path):
    """Positive favours the arm in either sense."""
    grid = layout(grid_text.replace('"tsp"', '"kp"') + TEST50.replace("tsp", "kp"))
    fill(tmp_path, grid, lambda cell: 6.0 + (cell.arm == "es"))
    (result,) = compare(grid, rows_of(tmp_path, grid))
    assert (result.paired.mean, result.outcome) == (1.0, "win")


def test_equal_totals_use_the_raised_cell_or_none(layout, grid_text, fill, tmp_path):
    """With skill completions the raised cell is compared; without, the arm's own, and there is no raised row."""
    grid = layout(grid_text.replace('baseline = "frozen"', TOTAL) + SKILLS + TEST50)
    fill(tmp_path / "some", grid, lambda c: 5.0 if c.matches else 6.0, skill=lambda c: 3 * (c.arm == "skills"))
    rows = {row.key: row for row in rows_of(tmp_path / "some", grid)}
    assert row_for(rows, "tsp", 10, "frozen@skills", 0).arm == "frozen@skills"
    means = {(r.comparison.at, r.comparison.baseline): r.mean_baseline for r in compare(grid, list(rows.values()))}
    assert means == {("operator", "frozen"): 8.0, ("total", "frozen@skills"): 7.0}
    assert {(each.at, each.arm, each.baseline) for each in overall(compare(grid, list(rows.values())))} == {
        ("operator", "es", "frozen"),
        ("operator", "skills", "frozen"),
        ("total", "skills", "frozen"),
    }
    bare = replace(grid, cells=tuple(cell for cell in grid.cells if not cell.matches))
    fill(tmp_path / "none", bare)
    rows = {row.key: row for row in rows_of(tmp_path / "none", grid)}
    assert ("tsp", 10, "frozen@skills", 0) not in rows
    assert row_for(rows, "tsp", 10, "frozen@skills", 0) == rows["tsp", 10, "frozen", 0]


def test_a_stale_raised_cell_is_no_part_of_a_comparison(layout, grid_text, fill, tmp_path):
    """It is not of equal total, and neither is its arm's own cell."""
    grid = layout(grid_text.replace('baseline = "frozen"', TOTAL) + SKILLS + TEST50)
    fill(tmp_path, grid, skill=lambda c: 3 * (c.arm == "skills"))
    rows = [
        replace(r, state="stale") if (r.arm, r.seed) == ("frozen@skills", 0) else r for r in rows_of(tmp_path, grid)
    ]
    (total,) = [each for each in compare(grid, rows) if each.comparison.at == "total"]
    assert (total.seeds, total.paired.count) == (1, 1)
