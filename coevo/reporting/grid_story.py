"""What a grid's folder tells: its cells, its comparisons, and the curves of its runs where these are there."""

import csv
import json
import tomllib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coevo.errors import RunError
from coevo.experiments.bench import CELLS, GRID, PROVENANCE, TABLE
from coevo.experiments.rows import Row, read_rows
from coevo.reporting.story import RunStory, Sense
from coevo.reporting.telling import tell_run


@dataclass(frozen=True, slots=True)
class ArmResult:
    """One comparison on one split, as in `table.csv`.

    Attributes:
        equal: Which completions are equal: "operator", or "total" with those for skills.
        pairs: Seeds of which both sides have a value.
        difference: Mean over them, positive where the arm is better, in units of the objective; None without a pair.
        low: Lower end of its 95 % interval; None below two pairs.
        high: Upper end.
        p: Exact two-sided sign test over wins and losses.
    """

    equal: str
    problem: str
    budget: int
    split: str
    sense: Sense
    arm: str
    baseline: str
    pairs: int
    mean_arm: float | None
    mean_baseline: float | None
    difference: float | None
    low: float | None
    high: float | None
    wins: int
    ties: int
    losses: int
    p: float

    def relative(self, value: float | None) -> float | None:
        """A difference as a fraction of the baseline's mean."""
        return value / abs(self.mean_baseline) if value is not None and self.mean_baseline else None


@dataclass(frozen=True, slots=True)
class MeanCurve:
    """The mean over an arm's seeds of the best objective so far, on the search split.

    Attributes:
        seeds: How many runs it is the mean of.
        places: Charged completions at which the mean changes, from where every run has a valid candidate.
    """

    problem: str
    budget: int
    arm: str
    sense: Sense
    seeds: int
    places: tuple[int, ...]
    objectives: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class GridStory:
    """Everything a page shows of a grid; `command` is empty where it is not recorded."""

    title: str
    command: str
    rows: tuple[Row, ...]
    results: tuple[ArmResult, ...]
    curves: tuple[MeanCurve, ...]

    @property
    def senses(self) -> Mapping[str, Sense]:
        """Direction of each problem's objective."""
        return {result.problem: result.sense for result in self.results}


def is_grid(path: Path) -> bool:
    """Whether a folder is one that `coevo bench` wrote its tables into."""
    return (path / GRID).is_file() and (path / CELLS).is_file()


def tell_grid(out: Path) -> GridStory:
    """What a grid's tables and runs tell.

    Raises:
        RunError: If one of the files is missing or cannot be read.
    """
    rows = tuple(read_rows(out / CELLS))
    return GridStory(
        title=str(_toml(out / GRID).get("title", out.resolve().name)),
        command=_command(out / PROVENANCE),
        rows=rows,
        results=_results(out / TABLE),
        curves=_curves(out, rows),
    )


def _toml(file: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"expected the grid at {file}, got: {error}; run coevo bench first") from error


def _command(file: Path) -> str:
    try:
        return str(json.loads(file.read_text(encoding="utf-8"))["command"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _results(file: Path) -> tuple[ArmResult, ...]:
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            return tuple(_result(record) for record in csv.DictReader(lines))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(
            f"expected the comparisons of a grid at {file}, got: {error!r}; run coevo bench again"
        ) from error


def _result(record: Mapping[str, str]) -> ArmResult:
    reals = {
        name: float(record[name]) if record[name] else None
        for name in ("mean_arm", "mean_baseline", "difference", "low", "high")
    }
    texts = {name: record[name] for name in ("equal", "problem", "split", "arm", "baseline")}
    counts = {name: int(record[name]) for name in ("budget", "pairs", "wins", "ties", "losses")}
    sense: Sense = "max" if record["sense"] == "max" else "min"
    return ArmResult(**texts, **counts, **reals, sense=sense, p=float(record["sign_test_p"]))  # type: ignore[arg-type]


def _curves(out: Path, rows: Sequence[Row]) -> tuple[MeanCurve, ...]:
    """Mean curves of every arm, from the runs of its finished cells that are there."""
    groups: dict[tuple[str, int, str], list[RunStory]] = {}
    for row in rows:
        run = out / "cells" / row.cell / row.run
        if row.state == "done" and row.run and (run / "config.toml").is_file():
            groups.setdefault((row.problem, row.budget, row.arm), []).append(tell_run(run))
    return tuple(_mean_curve(*key, [s for s in stories if s.improvements]) for key, stories in groups.items())


def _mean_curve(problem: str, budget: int, arm: str, stories: Sequence[RunStory]) -> MeanCurve:
    steps = [([i.place for i in story.improvements], [i.objective for i in story.improvements]) for story in stories]
    begin = max((places[0] for places, _ in steps), default=0)
    last = max((child.place for story in stories for child in story.children), default=begin)
    every = sorted({place for places, _ in steps for place in places if place >= begin} | {begin, last})
    means = [sum(own[bisect_right(places, at) - 1] for places, own in steps) / len(steps) for at in every if steps]
    sense = stories[0].sense if stories else "min"
    return MeanCurve(problem, budget, arm, sense, len(stories), tuple(every[: len(means)]), tuple(means))
