"""Grids and runs as they lie on disk, made without searching anything."""

import json
from dataclasses import dataclass

import pytest

from coevo.content import find_problem
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


REFERENCES = {"min": 5.0, "max": 20.0}
"""Mean best-known objective of every split, by sense."""


@dataclass(frozen=True)
class Told:
    """What a run is to come to: `objective` of its best heuristic on the search split, 2 more on every other one."""

    sense: str
    splits: tuple
    objective: float | None
    skill: int
    compare: bool

    def on(self, split):
        """Mean objective of the best heuristic on a split."""
        return None if self.objective is None else self.objective + 2 * (split != "search")

    def cost(self, objective):
        """An objective as a cost."""
        return None if objective is None else objective if self.sense == "min" else -objective

    def worse(self):
        """An objective that is worse by 1 than the best on the search split."""
        return None if self.objective is None else self.objective + (1 if self.sense == "min" else -1)

    def gap(self, objective):
        """Fraction by which an objective is worse than the reference."""
        reference = REFERENCES[self.sense]
        return self.cost(objective - reference) / reference

    def scored(self, candidate, objective):
        """A candidate with its worth on the search split."""
        return {"candidate": candidate, "cost": self.cost(objective), "objective": objective}


def child(told, name, operator, candidate, objective, *, time, reward=0.25):
    """The events of a batch with one child, valid if it has an objective."""
    status, detail = ("invalid", "it broke") if objective is None else ("ok", "")
    generation = int(name.partition(".")[0])
    verdict = {**told.scored(candidate, objective), "split": "search", "role": "candidate"}
    outcome = {"status": status, "detail": detail, "cost": verdict["cost"], "candidate": candidate, "parents": []}
    batch = {"generation": generation, "operator": operator, "children": 1, "distinct": 1, "reward": reward}
    return [
        {"kind": "asked", "generation": generation, "operator": operator, "requests": [{"id": name}], "clock": time},
        {"kind": "completion", "id": name, "text": "", "finish": "stop", "tokens": 7, "clock": time},
        {"kind": "verdict", **verdict, "clock": {**time, "cpu_s": 0.5}},
        {"kind": "child", "id": name, "generation": generation, "operator": operator, **outcome, "clock": time},
        {"kind": "batch", **batch, "valid": int(status == "ok"), "clock": time},
    ]


def events_of(told):
    """A run of two children in twelve seconds, and one more after a pause; the second child is the best."""
    start = {"fingerprint": "00000000000000aa", "baselines": {"yardstick": "base"}}
    start["references"] = dict.fromkeys(("search", *told.splits), REFERENCES[told.sense])
    events = [{"kind": "started", **start, "clock": {"time": 100.0}}]
    events += child(told, "0.i1.0", "i1", "first", told.worse(), time={"time": 104.0})
    requests = [{"id": f"1.skill.{n}"} for n in range(told.skill)]
    asked = {"kind": "asked", "generation": 1, "operator": "skill", "requests": requests, "clock": {"time": 110.0}}
    events += [asked] if requests else []
    events += child(told, "1.m1.0", "m1", "second", told.objective, time={"time": 112.0})
    events.append({"kind": "resumed", "clock": {"time": 900.0}})
    events += child(told, "1.m1.1", "m1", "third", None, time={"time": 903.0})
    if told.objective is not None:
        events += [event for split in told.splits for event in measured(told, split)]
    return [*events, finish(told)]


def measured(told, split):
    """The verdicts at the end: on the best heuristic where it has none yet, and on the baseline if it is compared."""
    kinds = [("second", "candidate", 2.0)] * (split != "search") + [("base", "baseline", 0.25)] * told.compare
    for candidate, role, seconds in kinds:
        verdict = {**told.scored(candidate, told.on(split)), "split": split, "role": role}
        yield {"kind": "verdict", **verdict, "clock": {"time": 904.0, "cpu_s": seconds}}


def finish(told):
    """The last event."""
    found = told.objective is not None
    status, best = ("done", "second") if found else ("no-valid-candidate", None)
    return {"kind": "finished", "status": status, "best": best, "clock": {"time": 904.0}}


def result_of(told, config, path):
    """The `result.json` of such a run."""
    found = told.objective is not None
    row = {split: {"objective": told.on(split), "gap": told.gap(told.on(split))} for split in told.splits if found}
    return {
        "status": finish(told)["status"],
        "best": told.scored("second", told.objective) if found else None,
        "first": told.scored("first", told.worse()) if found else None,
        "explanation": "",
        "splits": row,
        "comparisons": {"yardstick": row} if found and told.compare else {},
        "budget": {"operator": 3, "skill": told.skill, "planned": config.budget},
        "fingerprint": "00000000000000aa",
        "failures": [] if found else ["3 × invalid: it broke"],
        "wall_s": 1.0,
        "run": str(path),
    }


@pytest.fixture
def write_run():
    """Writes a run directory; `objective` is that of its best heuristic on the search split, None if none is valid."""

    def write(folder, config, *, objective=6.0, skill=0, finished=True):
        run = RunDirectory.create(folder, "run", config.model_dump(mode="json"))
        sense = find_problem(config.problem).spec.sense
        told = Told(sense, config.splits or ("search", "test50"), objective, skill, config.compare)
        run.events.write_text("".join(json.dumps(event) + "\n" for event in events_of(told)))
        run.save_environment({"python": "3", "packages": {"coevo": "0"}, "commit": "abc", "cores": 2, "processor": "p"})
        if finished:
            run.save_result(result_of(told, config, run.path))
        return run

    return write


@pytest.fixture
def fill(write_run):
    """Gives every cell of a layout a run, a raised one if it needs any; `objective`, `skill`: functions of the cell."""

    def fill_cells(out, layout, objective=lambda cell: 6.0 + cell.seed, skill=lambda cell: 0):
        by_name = {cell.name: cell for cell in layout.cells}
        for cell in layout.cells:
            more = skill(by_name[cell.measured_by]) if cell.matches else 0
            if not cell.matches or more:
                config = cell.raised(more).config
                write_run(CellFolder(out, cell).path, config, objective=objective(cell), skill=skill(cell))

    return fill_cells
