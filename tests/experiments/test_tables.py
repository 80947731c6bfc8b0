import csv
import io
import re
from dataclasses import replace

import pytest

from coevo.experiments.bench import rows_of
from coevo.experiments.results import compare
from coevo.experiments.tables import Provenance, page, plain, table_csv

PROVENANCE = Provenance(
    command="coevo bench g.toml",
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
    assert "| frozen | 8.5 ± 0.71 (70.00 %) |" in lines
    assert "| es | 7.5 ± 0.71 (50.00 %) |" in lines
    assert "| Δ es : frozen | +40.00 % |" in lines
    assert "| operator | tsp | 10 | test50 | es | frozen | 2 of 2 | +1 | [+1, +1] | 2/0/0 | 0.5 |" in lines
    assert "| operator | es | frozen | 1/0/0 | 1 |" in lines
    assert "| tsp | 10 | es | 2 | 3 | 0 | 0 | 66.67 % | 21 | 16 | 1.5 | 3.5 |" in lines
    assert "Command: `coevo bench g.toml`; seeds 0, 1." in lines
    assert any(line.startswith("- 4 cells: coevo 0 at abc; ") for line in lines)


def test_cells_without_numbers_are_named(grid, rows, layout, tmp_path):
    """A missing cell is marked on the page and left out of the means."""
    text = page(grid, rows_of(tmp_path / "empty", grid), [], PROVENANCE)
    assert "- tsp/10/es/s1: missing" in text.splitlines()
    assert "Cells without numbers" not in page(grid, rows, compare(grid, rows), PROVENANCE)


def test_a_page_says_how_many_seeds_a_number_rests_on(grid, rows):
    """Where a cell found nothing its arm's mean is over the others, and there is no gain; all else counts its pairs."""
    one = [replace(r, objectives={}, gaps={}) if (r.arm, r.seed) == ("es", 0) else r for r in rows]
    lines = page(grid, one, compare(grid, one), PROVENANCE).splitlines()
    assert "| es | 8 (60.00 %), 1 of 2 seeds |" in lines
    assert "| Δ es : frozen | – |" in lines
    assert "- tsp/10/es/s0: no value on test50" in lines
    assert "| operator | es | frozen | 0/0/1 | 1 |" in lines
    gone = [replace(row, state="failed", detail="x") if (row.arm, row.seed) == ("es", 0) else row for row in rows]
    lines = page(grid, gone, compare(grid, gone), PROVENANCE).splitlines()
    assert "| frozen | 8.5 ± 0.71 (70.00 %) |" in lines
    assert "| Δ es : frozen | +33.33 %, 1 of 2 seeds |" in lines


def test_gains_follow_from_the_means_above_them(layout, grid_text, fill, tmp_path):
    """With all seeds both are over the same ones; a raised arm that needs no run of its own shows its arm's."""
    text = grid_text.replace('baseline = "frozen"', 'baseline = "frozen"\ncompare_at = ["operator", "total"]')
    grid = layout(text + '[arms.skills]\nskill_every = 2\n[test_splits]\ntsp = ["test50"]\n')
    fill(tmp_path, grid, lambda cell: 6.0 - (cell.arm == "skills") - 2 * bool(cell.matches), lambda cell: cell.seed)
    rows = rows_of(tmp_path, grid)
    lines = page(grid, rows, compare(grid, rows), PROVENANCE).splitlines()
    assert "| frozen@skills | 7 ± 1.4 (40.00 %) |" in lines
    assert "| skills | 7 ± 0 (40.00 %) |" in lines
    assert "| Δ skills : frozen@skills | +0.00 % |" in lines


def test_the_page_says_what_its_test_can_show(grid, rows):
    """The least possible p follows from the number of seeds; comparisons are not corrected for their number."""
    text = page(grid, rows, compare(grid, rows), PROVENANCE)
    assert "exact two-sided sign test, with 2 seeds never less than 0.5; not corrected for the number of" in text
    five = replace(grid, grid=grid.grid.model_copy(update={"seeds": (0, 1, 2, 3, 4)}))
    assert "with 5 seeds never less than 0.0625;" in page(five, rows, compare(five, rows), PROVENANCE)


@pytest.mark.parametrize("text", ["<img src=x>\n# Big", "a | b\x1b[31m", "[go](http://x) `c` *d* ~~e~~ \\ & __f__ $g$"])
def test_foreign_text_stays_words_on_one_line(grid, rows, text):
    """Title, detail, environment and command cannot add a line, a table cell, a tag or a link."""
    grid = replace(grid, grid=grid.grid.model_copy(update={"title": text}))
    failed = [replace(rows[0], state="failed", detail=text), *rows[1:]]
    noted = Provenance(command=f"coevo bench {text}", environments=({"cells": 1, "processor": text},))
    bare = page(grid, failed, compare(grid, failed), noted)
    shown = plain(text)
    lines = bare.splitlines()
    assert lines[0] == f"# {shown}"
    assert f"- {rows[0].cell}: failed: {shown}" in lines
    assert next(line for line in lines if line.startswith("- 1 cells: ")).endswith(shown)
    assert bare.isprintable() or set(bare) - {"\n"} <= set(filter(str.isprintable, bare))
    assert not re.search(r"(?<!\\)(\\\\)*[*_~$|\[\]]|[<>]", shown)
    (command,) = [line for line in lines if line.startswith("Command: ")]
    fence, typed = re.match(r"Command: (`+) ?(.*?) ?\1; seeds 0, 1\.$", command).groups()
    assert typed.startswith("coevo bench ")
    assert fence not in typed


def test_the_csv_has_every_digit(grid, rows):
    """Each number of the page, exact."""
    (record,) = csv.DictReader(io.StringIO(table_csv(compare(grid, rows))))
    assert (record["split"], record["sense"], record["pairs"], record["outcome"]) == ("test50", "min", "2", "win")
    assert [float(record[name]) for name in ("mean_arm", "difference", "sd", "sign_test_p")] == [7.5, 1.0, 0.0, 0.5]


def test_an_empty_grid_is_all_dashes(grid):
    """A page can be made before anything has run, with a row for every arm."""
    text = page(grid, [], compare(grid, []), PROVENANCE)
    assert "| frozen | – |" in text.splitlines()
    assert "| operator | tsp | 10 | test50 | es | frozen | 0 of 0 | – | – | 0/0/0 | 1 |" in text.splitlines()
