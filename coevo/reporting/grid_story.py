"""What a grid's folder tells: its cells, its comparisons, and the curves of its runs where these are there."""

import csv
import json
import statistics
import tomllib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from coevo.errors import CoevoError, RunError
from coevo.experiments.bench import CELLS, GRID, PROVENANCE, TABLE
from coevo.experiments.rows import Row, read_rows
from coevo.experiments.statistics import Outcome
from coevo.records.run_kind import is_grid as is_grid
from coevo.reporting.story import Sense
from coevo.reporting.telling import tell_run


@dataclass(frozen=True, slots=True)
class ArmResult:
    """One comparison on one split, as in `table.csv`.

    Attributes:
        equal: Which completions are equal: "operator", or "total" with those for skills.
        pairs: Seeds of which both sides have a value.
        mean_arm: As in the table; None where the arm lacks a value.
        mean_baseline: The same of the baseline.
        difference: Mean over them, positive where the arm is better, in units of the objective; None without a pair.
        low: Lower end of its 95 % interval; None below two pairs.
        high: Upper end.
        p: Exact two-sided sign test over wins and losses.
        outcome: Who has the better mean, of the arm's view and by the table's rules; None without a seed.
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
    outcome: Outcome | None

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
    """Everything a page shows of a grid.

    Attributes:
        command: How it was run; empty where that is not recorded.
        untold: Runs that are there but cannot be read, so that curves lack them: cell and reason.
    """

    title: str
    command: str
    rows: tuple[Row, ...]
    results: tuple[ArmResult, ...]
    curves: tuple[MeanCurve, ...]
    untold: tuple[tuple[str, str], ...]

    @property
    def senses(self) -> Mapping[str, Sense]:
        """Direction of each problem's objective."""
        return {result.problem: result.sense for result in self.results}


def tell_grid(out: Path) -> GridStory:
    """What a grid's tables and runs tell.

    Raises:
        RunError: If one of the files is missing or cannot be read.
    """
    rows = tuple(read_rows(out / CELLS))
    curves, untold = _curves(out, rows)
    return GridStory(
        title=str(_toml(out / GRID).get("title", out.resolve().name)),
        command=_command(out / PROVENANCE),
        rows=rows,
        results=_results(out / TABLE),
        curves=curves,
        untold=untold,
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
    p, outcome = float(record["sign_test_p"]), _outcome(record["outcome"])
    return ArmResult(**texts, **counts, **reals, sense=sense, p=p, outcome=outcome)  # type: ignore[arg-type]


def _outcome(text: str) -> Outcome | None:
    for known in get_args(Outcome):
        if text == known:
            return known  # type: ignore[no-any-return]
    if text:
        raise ValueError(f"outcome {text!r}")
    return None


@dataclass(frozen=True, slots=True)
class _Trace:
    """What a mean curve needs of one run: where its best objective changed, to what, and where the run ends."""

    sense: Sense
    places: tuple[int, ...]
    objectives: tuple[float, ...]
    last: int

    def at(self, place: int) -> float:
        """Best objective after so many charged completions."""
        return self.objectives[bisect_right(self.places, place) - 1]


def _curves(out: Path, rows: Sequence[Row]) -> tuple[tuple[MeanCurve, ...], tuple[tuple[str, str], ...]]:
    """Mean curves of every arm, from the runs of its finished cells that are there; and the runs that cannot be read.

    Runs are read one at a time, since the story of a long one is large.
    """
    groups: dict[tuple[str, int, str], list[_Trace]] = {}
    untold: list[tuple[str, str]] = []
    for row in rows:
        run = out / "cells" / row.cell / row.run
        if row.state != "done" or not row.run or not run.is_dir():
            continue
        try:
            trace = _trace(run)
        except (CoevoError, OSError) as error:
            untold.append((row.cell, str(error)))
            continue
        if trace.places:
            groups.setdefault((row.problem, row.budget, row.arm), []).append(trace)
    return tuple(_mean_curve(*key, traces) for key, traces in groups.items()), tuple(untold)


def _trace(run: Path) -> _Trace:
    story = tell_run(run)
    places = tuple(each.place for each in story.improvements)
    last = max([0, *places, *(child.place for child in story.children)])
    return _Trace(story.sense, places, tuple(each.objective for each in story.improvements), last)


def _mean_curve(problem: str, budget: int, arm: str, traces: Sequence[_Trace]) -> MeanCurve:
    """The mean of one run or more, each with an improvement or more."""
    begin = max(trace.places[0] for trace in traces)
    last = max(trace.last for trace in traces)
    places = sorted({place for trace in traces for place in trace.places if place >= begin} | {begin, last})
    means = tuple(statistics.fmean(trace.at(place) for trace in traces) for place in places)
    return MeanCurve(problem, budget, arm, traces[0].sense, len(traces), tuple(places), means)
