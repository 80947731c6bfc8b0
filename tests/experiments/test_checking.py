import json
import shutil
from pathlib import Path

import pytest

from coevo.errors import CoevoError, RunError
from coevo.experiments.bench import Request, write
from coevo.experiments.cell_folder import CellFolder
from coevo.experiments.checking import verify

RESULTS = Path(__file__).parents[2] / "runs" / "results"


TWO = """
schema_version = 1
title = "Two problems, one of them maximised, with splits of their own"
problems = ["tsp", "kp"]
budgets = [10]
seeds = 2
baseline = "frozen"
compare_at = ["operator", "total"]

[common]
compare = false

[arms.frozen]
es = "off"

[arms.es]
population = 4

[arms.skills]
es = "off"
skill_every = 2

[test_splits]
tsp = ["test20", "test50"]
kp = ["test200"]
"""
DONE = 16
"""Its cells: two problems, two seeds, three arms and one that is raised."""


def charged(cell):
    """Skill completions of a cell."""
    return 3 * (cell.arm == "skills")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Where the grid is made once, to be copied."""
    return tmp_path_factory.mktemp("grid") / "out"


@pytest.fixture
def out(kept, tmp_path, layout, grid_file, fill):
    """A finished grid of two problems with its tables."""
    if not kept.exists():
        found = layout(TWO)
        fill(kept, found, lambda cell: 6.0 + cell.seed - 0.5 * (cell.arm == "es"), charged)
        write(Request(grid_file(TWO), kept, command="coevo bench grid.toml"), found)
    return shutil.copytree(kept, tmp_path / "out")


def edit(file, old, new):
    """Replace a text that is there once or more."""
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def test_what_was_written_is_verified(out):
    """All numbers follow, and all cells are traced to their events."""
    found = verify(out)
    assert (found.differences, found.cells, found.traced) == ((), DONE, DONE)
    assert "Cells without numbers" not in (out / "table.md").read_text()


def test_without_the_runs_the_tables_still_follow_from_the_cells(out):
    """As in a checkout, where only the summaries are."""
    shutil.rmtree(out / "cells")
    found = verify(out)
    assert (found.differences, found.cells, found.traced) == ((), DONE, 0)
    edit(out / "table.md", "+16.67 %", "+16.68 %")
    assert verify(out).differences


def test_with_some_of_the_runs_the_environments_are_left_alone(out):
    """What the others ran on cannot be known."""
    shutil.rmtree(out / "cells" / "tsp")
    found = verify(out)
    assert (found.differences, found.cells, found.traced) == ((), DONE, DONE // 2)


@pytest.mark.parametrize(
    ("name", "old", "new", "fragment"),
    [
        ("cells.csv", ",21,", ",22,", "tsp/10/frozen/s0: tokens is 22, the run says 21"),
        ("cells.csv", ",8.0,", ",8.5,", "tsp/10/frozen/s0: objective on test20 is 8.5, the run says 8.0"),
        ("cells.csv", ",0.6,", ",0.5,", "tsp/10/frozen/s0: gap on test20 is 0.5, the run says 0.6"),
        ("cells.csv", "tsp,10,es,1,done", "tsp,10,es,7,done", "tsp/10/es/s7 is no cell of grid.toml"),
        ("cells.csv", "tsp,10,es,1,done", "bpp,10,es,1,done", "bpp/10/es/s1 is no cell of grid.toml"),
        ("cells.csv", "tsp,10,es,1,done", "tsp,20,es,1,done", "tsp/20/es/s1 is no cell of grid.toml"),
        ("table.csv", ",min,", ",max,", "table.csv, line 2: says "),
        ("table.md", "66.67 %", "67.66 %", "table.md, line "),
        ("provenance.json", '"commit": "abc"', '"commit": "abd"', "the environments are not those of the runs"),
        ("provenance.json", "coevo bench grid.toml", "coevo bench other.toml", "table.md, line "),
        ("grid.toml", "population = 4", "population = 5", "population = 5, as the grid says, got 4"),
        ("grid.toml", '"test200"', '"test100"', "to have splits = ['test100'], as the grid says, got ['test200']"),
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


def test_an_edited_gap_is_found(out):
    """Although cells and tables follow from it: the gap is computed anew from the recorded references."""
    for name in ("frozen", "es"):
        for file in out.glob(f"cells/tsp/10/{name}/*/*/result.json"):
            result = json.loads(file.read_text())
            result["splits"]["test50"]["gap"] = 0.01
            file.write_text(json.dumps(result))
    assert any("splits.test50.gap = " in line for line in verify(out).differences)


def exchange(one, other):
    """Let two folders swap their names."""
    one.rename(one.with_name("between"))
    other.rename(one)
    one.with_name("between").rename(other)


def test_exchanged_arms_are_found(out):
    """By their tables in the grid file, by the folders of their cells, and where one of these is a raised one."""
    text = (out / "grid.toml").read_text()
    swapped = text.replace('[arms.frozen]\nes = "off"', "[arms.frozen]\npopulation = 4", 1)
    swapped = swapped.replace("[arms.es]\npopulation = 4", '[arms.es]\nes = "off"')
    (out / "grid.toml").write_text(swapped)
    said = verify(out).differences
    assert any("cell tsp/10/frozen/s0 to have es = 'dense', as the grid says, got 'off'" in line for line in said)
    (out / "grid.toml").write_text(text)
    for one, other in (("es/s0", "frozen/s0"), ("frozen/s0", "frozen/s1"), ("frozen/s0", "frozen@skills/s0")):
        folders = [out / "cells" / "tsp" / "10" / name for name in (one, other)]
        exchange(*folders)
        assert any("as the grid says" in line or "is stale" in line for line in verify(out).differences), (one, other)
        exchange(*folders)
    assert verify(out).differences == ()


def test_a_raised_cell_is_held_against_its_donor(out, layout, write_run):
    """A donor that was redone, with other skill completions, makes the equal total of its raised cell a claim."""
    (donor,) = [cell for cell in layout(TWO).cells if cell.name == "tsp/10/skills/s0"]
    write_run(CellFolder(out, donor).path, donor.config, objective=6.0, skill=5)
    said = verify(out).differences
    assert "tsp/10/frozen@skills/s0: state is done, the run says stale" in said


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


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("provenance.json", b"[]", "not a JSON object"),
        ("provenance.json", b"[" * 200_000, "not a JSON object"),
        ("provenance.json", b"\xff\xfe", "not a JSON object"),
        ("provenance.json", b'{"schema_version": true}', "expected schema_version 1, got True"),
        ("provenance.json", b'{"schema_version": 1, "command": "", "environments": [{}]}', "environments: "),
        ("cells.csv", b"\xff\xfe", "expected UTF-8 text"),
        ("cells.csv", b"problem\n" + b"x" * 200_000, "line 2: expected a cell of a grid"),
        ("table.md", b"\xff\xfe", "expected UTF-8 text"),
    ],
)
def test_a_damaged_file_is_refused_by_name(out, name, content, said):
    """Whatever is in it, on one line."""
    (out / name).write_bytes(content)
    with pytest.raises(CoevoError) as refusal:
        verify(out)
    assert name in str(refusal.value)
    assert said in str(refusal.value)


def test_a_cell_that_cannot_be_traced_is_not_counted(out):
    """Its run is there, and its result is not what its events say."""
    edit(next(out.glob("cells/tsp/10/frozen/s0/*/result.json")), '"objective": 8.0', '"objective": 7.0')
    assert verify(out).traced == DONE - 1


@pytest.mark.parametrize("folder", sorted(file.parent for file in RESULTS.glob("*/cells.csv")), ids=lambda f: f.name)
def test_a_committed_grid_follows_from_its_cells(folder):
    """Every number of a table under `runs/results/` is the one that its cells give."""
    found = verify(folder)
    assert found.differences == ()
    assert found.cells > 0
