import csv
import io

import pytest

from coevo.experiments.bench import rows_of
from coevo.experiments.results import compare
from coevo.experiments.tables import Provenance, page, table_csv

PROVENANCE = Provenance(
    command="coevo bench g.toml",
    jobs=2,
    environments=({"cells": 4, "packages": {"coevo": "0", "torch": "2"}, "commit": "abc", "cores": 2},),
)


@pytest.fixture
def grid(layout, grid_text):
    """The small grid, on one test split."""
    return layout(grid_text + '[test_splits]\ntsp = ["test50"]\n')


@pytest.fixture
def rows(grid, fill, tmp_path):
    """Its cells: ES is better by 1."""
    fill(tmp_path, grid, lambda cell: 6.0 + cell.seed - (cell.arm == "es"))
    return rows_of(tmp_path, grid)


def test_the_page_has_the_published_form(grid, rows):
    """Arms below one another, test sets beside one another with their sense, gap gain below, then the rest."""
    text = page(grid, rows, compare(grid, rows), PROVENANCE)
    lines = text.splitlines()
    assert "| arm | tsp test50 ↓ |" in lines
    assert "| frozen | 8.5 ± 0.71 (20.00 %) |" in lines
    assert "| es | 7.5 ± 0.71 (20.00 %) |" in lines
    assert "| Δ es : frozen | +0.00 % |" in lines
    assert "| operator | tsp | 10 | test50 | es | frozen | 2 of 2 | +1 | [+1, +1] | 2/0/0 | 0.5 |" in lines
    assert "| operator | es | frozen | 1/0/0 | 1 |" in lines
    assert "| tsp | 10 | es | 2 | 3 | 0 | 0 | 66.67 % | 21 | 16 | 1.5 | 3.5 |" in lines
    assert "Command: `coevo bench g.toml`; seeds 0, 1; 2 cells at a time." in lines
    assert any(line.startswith("- 4 cells: coevo 0 at abc; ") for line in lines)


def test_cells_without_numbers_are_named(grid, rows, layout, tmp_path):
    """A missing cell is marked on the page and left out of the means."""
    text = page(grid, rows_of(tmp_path / "empty", grid), [], PROVENANCE)
    assert "- tsp/10/es/s1: missing" in text.splitlines()
    assert "Cells without numbers" not in page(grid, rows, compare(grid, rows), PROVENANCE)


def test_the_csv_has_every_digit(grid, rows):
    """Each number of the page, exact."""
    (record,) = csv.DictReader(io.StringIO(table_csv(compare(grid, rows))))
    assert (record["split"], record["sense"], record["pairs"], record["outcome"]) == ("test50", "min", "2", "win")
    assert [float(record[name]) for name in ("mean_arm", "difference", "sd", "sign_test_p")] == [7.5, 1.0, 0.0, 0.5]


def test_an_empty_grid_is_all_dashes(grid):
    """A page can be made before anything has run."""
    text = page(grid, [], compare(grid, []), PROVENANCE)
    assert "| operator | tsp | 10 | test50 | es | frozen | 0 of 0 | – | – | 0/0/0 | 1 |" in text.splitlines()
