import json
import shutil
from pathlib import Path

import pytest

from coevo.errors import CoevoError, RunError
from coevo.experiments.bench import Request, write
from coevo.experiments.checking import verify

RESULTS = Path(__file__).parents[2] / "runs" / "results"


@pytest.fixture
def out(tmp_path, layout, grid_file, fill):
    """A finished grid with its tables."""
    found = layout()
    fill(tmp_path / "out", found)
    write(Request(grid_file(), tmp_path / "out", command="coevo bench grid.toml"), found)
    return tmp_path / "out"


def edit(file, old, new):
    """Replace a text that is there once or more."""
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def test_what_was_written_is_verified(out):
    """All numbers follow, and all cells are traced to their events."""
    found = verify(out)
    assert (found.differences, found.cells, found.traced) == ((), 4, 4)


def test_without_the_runs_the_tables_still_follow_from_the_cells(out):
    """As in a checkout, where only the summaries are."""
    shutil.rmtree(out / "cells")
    found = verify(out)
    assert (found.differences, found.cells, found.traced) == ((), 4, 0)
    edit(out / "table.md", "+0.00 %", "+0.01 %")
    assert verify(out).differences


@pytest.mark.parametrize(
    ("name", "old", "new", "fragment"),
    [
        ("cells.csv", ",21,", ",22,", "tsp/10/frozen/s0: tokens is 22, the run says 21"),
        ("cells.csv", ",8.0,", ",8.5,", "objective on test50 is 8.5, the run says 8.0"),
        ("cells.csv", "tsp,10,es,1,done", "tsp,10,es,7,done", "tsp/10/es/s7 is no cell of grid.toml"),
        ("table.csv", ",min,", ",max,", "table.csv, line 2: says "),
        ("table.md", "66.67 %", "67.66 %", "table.md, line "),
        ("provenance.json", '"commit": "abc"', '"commit": "abd"', "the environments are not those of the runs"),
        ("provenance.json", '"jobs": 1', '"jobs": 2', "table.md, line "),
    ],
)
def test_one_edited_value_is_found(out, name, old, new, fragment):
    """Wherever it is, the check names it."""
    edit(out / name, old, new)
    found = verify(out)
    assert any(fragment in line for line in found.differences), found.differences


def test_an_edited_run_is_found(out):
    """An event log that is not the recorded one, and a result that its events do not support."""
    log = next(out.glob("cells/tsp/10/es/s1/*/events.jsonl"))
    edit(log, '"tokens": 7', '"tokens": 8')
    lines = verify(out).differences
    assert any(line.startswith("tsp/10/es/s1: events_sha256 is ") for line in lines)
    assert "tsp/10/es/s1: tokens is 21, the run says 22" in lines
    result = next(out.glob("cells/tsp/10/frozen/s0/*/result.json"))
    edit(result, '"objective": 8.0', '"objective": 7.0')
    assert any("state is done, the run says failed" in line for line in verify(out).differences)


@pytest.mark.parametrize("name", ["grid.toml", "cells.csv", "table.csv", "table.md", "provenance.json"])
def test_a_missing_file_is_refused_by_name(out, name):
    """The check wants all five."""
    (out / name).unlink()
    with pytest.raises(CoevoError, match=name):
        verify(out)


def test_a_provenance_of_another_version_is_refused(out):
    """By file and version."""
    file = out / "provenance.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "schema_version": 2}))
    with pytest.raises(RunError, match=r"provenance.json: expected schema_version 1, got 2"):
        verify(out)


@pytest.mark.parametrize("folder", sorted(file.parent for file in RESULTS.glob("*/cells.csv")), ids=lambda f: f.name)
def test_a_committed_grid_follows_from_its_cells(folder):
    """Every number of a table under `runs/results/` is the one that its cells give."""
    found = verify(folder)
    assert found.differences == ()
    assert found.cells > 0
