"""Grids and runs as they lie on disk, made without searching anything."""

import json

import pytest

from coevo.experiments.cell_folder import CellFolder
from coevo.experiments.cells import lay_out
from coevo.experiments.grid import read_grid
from coevo.records.run_directory import RunDirectory

GRID = """
schema_version = 1
title = "A grid"
problems = ["tsp"]
budgets = [10]
seeds = 2
baseline = "frozen"

[common]
compare = false

[arms.frozen]
es = "off"

[arms.es]
population = 4
"""


@pytest.fixture
def grid_text():
    """A small grid file that is as it should be."""
    return GRID


@pytest.fixture
def grid_file(tmp_path):
    """Writes a grid file; without a text the small one."""

    def make(text=GRID):
        file = tmp_path / "grid.toml"
        file.write_text(text)
        return file

    return make


@pytest.fixture
def layout(grid_file):
    """The resolved small grid, or that of another text."""
    return lambda text=GRID: lay_out(read_grid(grid_file(text)))


def child(name, operator, candidate, objective, *, time, reward=0.25):
    """The events of a batch with one child, valid if it has an objective."""
    status = "invalid" if objective is None else "ok"
    generation = int(name.partition(".")[0])
    verdict = {"candidate": candidate, "split": "search", "role": "candidate", "cost": objective}
    return [
        {"kind": "asked", "generation": generation, "operator": operator, "requests": [{"id": name}], "clock": time},
        {"kind": "completion", "id": name, "text": "", "finish": "stop", "tokens": 7, "clock": time},
        {"kind": "verdict", **verdict, "objective": objective, "clock": {**time, "cpu_s": 0.5}},
        {"kind": "child", "id": name, "operator": operator, "status": status, "cost": objective, "clock": time},
        {"kind": "batch", "operator": operator, "children": 1, "valid": 1, "reward": reward, "clock": time},
    ]


def events_of(objective, skill):
    """A run of two children in twelve seconds, and one more after a pause; the second child is the best."""
    start = {"kind": "started", "fingerprint": "00000000000000aa", "clock": {"time": 100.0}}
    events = [start, *child("0.i1.0", "i1", "first", objective + 1, time={"time": 104.0})]
    asked = {
        "kind": "asked",
        "generation": 1,
        "operator": "skill",
        "requests": [{"id": f"1.skill.{n}"} for n in range(skill)],
    }
    events += [{**asked, "clock": {"time": 110.0}}] if skill else []
    events += child("1.m1.0", "m1", "second", objective, time={"time": 112.0})
    events += [
        {"kind": "resumed", "clock": {"time": 900.0}},
        *child("1.m1.1", "m1", "third", None, time={"time": 903.0}),
    ]
    test = {"candidate": "second", "split": "test50", "role": "candidate", "cost": objective + 2}
    events.append({"kind": "verdict", **test, "objective": objective + 2, "clock": {"time": 904.0, "cpu_s": 2.0}})
    return [*events, {"kind": "finished", "status": "done", "best": "second", "clock": {"time": 904.0}}]


@pytest.fixture
def write_run():
    """Writes a run directory; `objective` is that of its best heuristic on the search split."""

    def write(folder, config, *, objective=6.0, skill=0, finished=True):
        run = RunDirectory.create(folder, "run", config.model_dump(mode="json"))
        run.events.write_text("".join(json.dumps(event) + "\n" for event in events_of(objective, skill)))
        run.save_environment({"python": "3", "packages": {"coevo": "0"}, "commit": "abc", "cores": 2, "processor": "p"})
        splits = {"search": (objective, 0.1), "test50": (objective + 2, 0.2)}
        result = {
            "status": "done",
            "best": {"candidate": "second", "cost": objective, "objective": objective},
            "splits": {name: {"objective": value, "gap": gap} for name, (value, gap) in splits.items()},
            "comparisons": {},
            "budget": {"operator": 3, "skill": skill, "planned": config.budget},
            "fingerprint": "00000000000000aa",
            "wall_s": 1.0,
            "run": str(run.path),
        }
        if finished:
            run.save_result(result)
        return run

    return write


@pytest.fixture
def fill(write_run):
    """Gives every cell of a layout a run; `objective` and `skill` are functions of the cell."""

    def fill_cells(out, layout, objective=lambda cell: 6.0 + cell.seed, skill=lambda cell: 0):
        for cell in layout.cells:
            write_run(CellFolder(out, cell).path, cell.config, objective=objective(cell), skill=skill(cell))

    return fill_cells
