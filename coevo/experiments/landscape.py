"""Landscapes in run directories of their own, and which of their points differ from the centre.

All points play the same tasks under the same seeds, so a point is compared with the centre task by task: a paired t
interval at 95 %. That holds for one point; of many that differ in nothing about one in twenty seems to.
"""

import csv
import io
import math
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from coevo.experiments.statistics import LEVEL, student_quantile
from coevo.records.event_log import Event, Listener, read_events
from coevo.records.files import write_text
from coevo.records.results import check_end, read_result
from coevo.records.run_directory import RunDirectory
from coevo.tuning.episodes import Episode, past_episodes
from coevo.tuning.landscape import LandscapeConfig, landscape_config_of, survey

POINTS = "points.csv"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class PointResult(_Frozen):
    """One point of the plane. Scores are maximised."""

    column: int
    row: int
    a: float
    """Offset along the first direction, in weight units."""
    b: float
    """Offset along the second."""
    mean: float | None
    """Mean score over tasks; None where none could be played."""
    error: float | None
    """Standard error of the mean over tasks."""
    difference: float | None
    """Mean minus the centre's, over the tasks that both have played; 0 at the centre."""
    difference_error: float | None
    """Standard error of the difference, paired by task."""
    differs: bool
    """Whether the 95 % interval of the difference leaves out 0."""
    tasks: int
    episodes: int
    faults: int


class LandscapeResult(_Frozen):
    """One landscape's result."""

    status: Literal["done", "interrupted"]
    env: str
    split: str
    points: tuple[PointResult, ...]
    """Row by row; where it was interrupted, those that have been played."""
    differing: int
    """Points that differ from the centre."""
    fingerprint: str
    """Of the weights at the centre."""
    wall_s: float
    run: str


def run_landscape(config: LandscapeConfig, *, runs_dir: Path, listeners: tuple[Listener, ...] = ()) -> LandscapeResult:
    """Survey a plane in a new run directory `landscape-<environment>-s<seed>-<time>`.

    Raises:
        CoevoError: If an input cannot be used; nothing has been written then.
        KeyboardInterrupt: With the run's path, after it has been closed; `resume_landscape` goes on with it.
    """
    name = f"landscape-{Path(config.env).name}-s{config.seed}"

    def create() -> RunDirectory:
        return RunDirectory.create(runs_dir, name, config.model_dump(mode="json"))

    return _run(config, create, listeners)


def resume_landscape(run: Path, *, listeners: tuple[Listener, ...] = ()) -> LandscapeResult:
    """Go on with a landscape that was interrupted or killed; the result of a finished one is returned as it is.

    Raises:
        RunError: If `run` is not that of one, is in use, no longer reproduces its own past, or has a
            result and a log that does not end.
    """
    config, found = landscape_config_of(run), load_landscape(run)
    if found is not None and found.status == "done":
        check_end(run)
        return found
    return _run(config, lambda: RunDirectory(run), listeners)


def load_landscape(run: Path) -> LandscapeResult | None:
    """The result of a landscape, or None while there is none.

    Raises:
        RunError: If `run` is not a run directory, or another version wrote the result.
    """
    return read_result(run, LandscapeResult, "a landscape")


def _run(
    config: LandscapeConfig, open_directory: Callable[[], RunDirectory], listeners: tuple[Listener, ...]
) -> LandscapeResult:
    started = time.monotonic()
    with survey(config, open_directory, listeners) as (ground, play):
        try:
            play()
        except KeyboardInterrupt:
            _save(ground.directory, config, started, "interrupted")
            raise KeyboardInterrupt(str(ground.directory.path)) from None
        return _save(ground.directory, config, started, "done")


def _save(directory: RunDirectory, config: LandscapeConfig, started: float, status: str) -> LandscapeResult:
    """Write and return the result of what the log says so far, and its points as a table."""
    events = list(read_events(directory.events))
    began = next((event for event in events if event["kind"] == "started"), {})
    points = points_of(events, config.points)
    result = LandscapeResult.model_validate(
        {
            "status": status,
            "env": began.get("env", config.env),
            "split": config.split,
            "points": [point.model_dump() for point in points],
            "differing": sum(point.differs for point in points),
            "fingerprint": began.get("fingerprint", ""),
            "wall_s": round(time.monotonic() - started, 3),
            "run": str(directory.path),
        }
    )
    directory.save_result(result.model_dump(mode="json"))
    write_text(directory.path / POINTS, points_table(points))
    return result


def by_chance(points: int) -> str:
    """How many of so many points would differ from the centre by chance where nothing differs, in words."""
    return f"{(1 - LEVEL) * points:.2g}"


def points_table(points: Sequence[PointResult]) -> str:
    """The points as CSV, one a line, under the names of their fields; empty where there is no number."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(PointResult.model_fields), lineterminator="\n")
    writer.writeheader()
    writer.writerows(point.model_dump() for point in points)
    return out.getvalue()


def points_of(events: Sequence[Event], side: int) -> list[PointResult]:
    """Every point that the events of a landscape tell of, compared with the centre once that has been played.

    Args:
        events: Of one landscape.
        side: Points of a side.

    Raises:
        RunError: For an event that lacks what this version writes.
    """
    scores = _scores(past_episodes(events))
    centre = scores.get(f"{side // 2}.{side // 2}", {})
    return [_point(event, scores, centre) for event in events if event["kind"] == "point"]


def _scores(episodes: dict[str, Episode]) -> dict[str, dict[str, float]]:
    """Mean score by point ("row.column") and task."""
    found: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for name, episode in episodes.items():
        if episode.score is not None:
            found[".".join(name.split(".", 2)[:2])][episode.task].append(episode.score)
    return {place: {task: math.fsum(v) / len(v) for task, v in tasks.items()} for place, tasks in found.items()}


def _point(event: Event, scores: dict[str, dict[str, float]], centre: dict[str, float]) -> PointResult:
    own = scores.get(f"{event['row']}.{event['column']}", {})
    difference, error, differs = compared([own[task] - centre[task] for task in own if task in centre])
    names = ("column", "row", "a", "b", "mean", "error", "tasks", "episodes", "faults")
    values = {name: event[name] for name in names}
    return PointResult(**values, difference=difference, difference_error=error, differs=differs)


def compared(differences: Sequence[float]) -> tuple[float | None, float | None, bool]:
    """The mean of paired differences, its standard error, and whether its 95 % t interval leaves out 0.

    Where all differences are the same, the t interval has no width; the sign test says then how many are enough.
    """
    count = len(differences)
    if not count:
        return None, None, False
    mean = math.fsum(differences) / count
    if count == 1:
        return mean, None, False
    if len(set(differences)) == 1:
        return differences[0], 0.0, differences[0] != 0.0 and 2 * 0.5**count < 1 - LEVEL
    error = math.sqrt(math.fsum((value - mean) ** 2 for value in differences) / (count - 1) / count)
    return mean, error, abs(mean) > student_quantile((1 + LEVEL) / 2, count - 1) * error
