"""The page of a landscape: scores around a model's weights, and how sure they are."""

from collections.abc import Sequence
from pathlib import Path

from coevo.experiments.landscape import PointResult, by_chance, points_of
from coevo.records.event_log import read_events
from coevo.records.run_directory import RunDirectory
from coevo.reporting import tables
from coevo.reporting.environment import read_environment
from coevo.reporting.figures import Figure
from coevo.reporting.heat_map import HeatMap, Scale, heat_map
from coevo.reporting.page import render
from coevo.reporting.run_page import SHOWN_CODE, Fact, environment_table
from coevo.reporting.tables import table
from coevo.reporting.text import DASH, count, number
from coevo.tuning.landscape import LandscapeConfig, landscape_config_of

_LABELS = ("a, along the first direction", "b, along the second")


def landscape_page(path: Path) -> str:
    """The page of a landscape as HTML, finished or not.

    Raises:
        RunError: If `path` is not the directory of one, or its log was edited or written by another version.
    """
    directory, settings = RunDirectory.open(path), landscape_config_of(path)
    events = list(read_events(directory.events)) if directory.events.exists() else []
    started = next((event for event in events if event["kind"] == "started"), {})
    points = points_of(events, settings.points)
    done = any(event["kind"] == "finished" for event in events)
    return render(
        "landscape.html.j2",
        name=directory.path.resolve().name,
        env=str(started.get("env", settings.env)),
        status="finished" if done else "unfinished: it still runs, or was stopped",
        settings=settings,
        model=_last(settings.model),
        origin=_last(settings.runs[0]) if settings.runs else "",
        fingerprint=str(started.get("fingerprint", "")),
        facts=_facts(settings, points),
        figures=[_scores(settings, points), _errors(settings, points)] if points else [],
        environment=environment_table(str(started.get("version", "")), read_environment(directory.path)),
        config=(directory.path / "config.toml").read_text(errors="backslashreplace"),
        limit=SHOWN_CODE,
    )


def _last(name: str) -> str:
    """A path by its last part alone; a name as it is. The whole is in the configuration."""
    return Path(name).name if Path(name).is_absolute() else name


def _centre(settings: LandscapeConfig, points: Sequence[PointResult]) -> PointResult | None:
    middle = settings.points // 2
    return next((point for point in points if (point.column, point.row) == (middle, middle)), None)


def _facts(settings: LandscapeConfig, points: Sequence[PointResult]) -> tuple[Fact, ...]:
    centre = _centre(settings, points)
    others = len(points) - (centre is not None)
    differing = sum(point.differs for point in points)
    score = DASH if centre is None else f"{number(centre.mean, 3)} ± {number(centre.error, 2)}"
    episodes = sum(point.episodes for point in points)
    return (
        Fact("score at the centre", score, "± standard error over tasks"),
        Fact("points that differ from it", count(differing),
             f"of {count(others)}; {by_chance(others)} would by chance where nothing differs"),
        Fact("points", count(len(points)), f"of {count(settings.points**2)}"),
        Fact("episodes", count(episodes), f"{count(settings.repeats)} of each task at each point"),
    )  # fmt: skip


def _scores(settings: LandscapeConfig, points: Sequence[PointResult]) -> Figure:
    centre = _centre(settings, points)
    values = {(point.column, point.row): point.mean for point in points}
    known = [value for value in values.values() if value is not None] or [0.0]
    middle = known[0] if centre is None or centre.mean is None else centre.mean
    same = frozenset((point.column, point.row) for point in points if not point.differs)
    scale = Scale(min(known), max(known), middle)
    description = f"{len(points)} points, {len(points) - len(same)} of which differ from the centre."
    drawing = heat_map(HeatMap("Mean score", description, settings.offsets, values, same, scale, _LABELS))
    caption = (
        "Mean score, maximised: white is the centre's, red is higher, blue lower. Hatched cells cannot be told from "
        "the centre: the 95 % interval of the difference, paired by task, holds 0. Nothing is smoothed."
    )
    heads = ("a", "b", "score", "difference", "its error", "differs", "tasks")
    rows = (
        (tables.real(p.a, 4), tables.real(p.b, 4), tables.real(p.mean, 4), tables.real(p.difference, 4),
         tables.real(p.difference_error, 3), tables.words("yes" if p.differs else "no"), tables.whole(p.tasks))
        for p in points
    )  # fmt: skip
    return Figure("scores", "Mean score", caption, drawing, table("Points against the centre", heads, rows))


def _errors(settings: LandscapeConfig, points: Sequence[PointResult]) -> Figure:
    values = {(point.column, point.row): point.error for point in points}
    known = [value for value in values.values() if value is not None] or [0.0]
    scale = Scale(0.0, max(known))
    description = f"Up to {number(max(known), 3)}."
    drawing = heat_map(HeatMap("Standard error", description, settings.offsets, values, frozenset(), scale, _LABELS))
    caption = "Standard error of each point's mean score, over tasks: structure of this size is noise."
    heads = ("a", "b", "standard error", "episodes", "faults")
    rows = (
        (tables.real(p.a, 4), tables.real(p.b, 4), tables.real(p.error, 3), tables.whole(p.episodes),
         tables.whole(p.faults)) for p in points
    )  # fmt: skip
    return Figure("errors", "Standard error", caption, drawing, table("Sampling error of the points", heads, rows))
