"""Runs side by side: their curves on one chart per problem or environment, their numbers, and what differs."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from coevo.errors import CoevoError
from coevo.experiments.flattening import dotted
from coevo.records.run_directory import RunDirectory
from coevo.reporting import tables
from coevo.reporting.axes import axis_for
from coevo.reporting.chart import Chart, Series, line_chart
from coevo.reporting.comparison import settings_that_differ
from coevo.reporting.figures import BEYOND, Figure, settled
from coevo.reporting.live.following import Glance
from coevo.reporting.live.rendering import LivePage, live
from coevo.reporting.live.tally import Progress
from coevo.reporting.tables import Cell, Table, table
from coevo.reporting.text import number, percent, whole

MOST = 12
"""Runs that a page compares: more curves are not told apart on one chart."""

Named = dict[str, Glance]

_CURVES = {
    "search": {"best": "Objective against budget", "gap": "Gap against budget"},
    "tune": {"val": "Score on val", "training": "What training episodes score"},
    "probe": {"held_out": "Reward on held-out parents", "trained": "Reward on trained parents"},
}
"""What is drawn of each kind of run, by the names of its curves."""

_ALONG = {"search": "charged completions", "tune": "generation", "probe": "steps taken"}


def comparison_page(runs: Sequence[Glance], page: LivePage, *, left_out: int) -> str:
    """The page as HTML; runs are named A, B, C, … in the order given.

    Args:
        runs: At most `MOST`.
        page: For the frame.
        left_out: How many more were asked for.
    """
    named = dict(zip(ascii_uppercase, runs, strict=False))
    settings = settings_that_differ({letter: _flat(run.path) for letter, run in named.items()})
    return live("compare.html.j2", page, count=len(runs), runs=_numbers(named), figures=list(_figures(named)),
                settings=settings, left_out=left_out, most=MOST)  # fmt: skip


def _numbers(named: Named) -> Table:
    heads = ("run", "directory", "kind", "subject", "state", "score", "what that is", "gap", "spent", "planned", "unit")
    return table("The runs", heads, (_row(letter, run) for letter, run in named.items()))


def _row(letter: str, run: Glance) -> list[Cell]:
    cells = [tables.words(letter), tables.code(run.state.name)]
    if (p := run.state.progress) is None:
        return [*cells, *map(tables.words, ("", "", run.state.state, "", run.state.words, "", "", "", ""))]
    planned = tables.words("") if p.planned is None else tables.whole(p.planned)
    names = map(tables.words, (p.kind, p.subject, run.state.state))
    return [*cells, *names, tables.real(p.score), tables.words(p.score_name), tables.share(p.gap),
            tables.whole(p.spent), planned, tables.words(p.unit)]  # fmt: skip


def _figures(named: Named) -> Iterable[Figure]:
    groups: dict[tuple[str, str], Named] = {}
    for letter, run in named.items():
        if p := run.state.progress:
            groups.setdefault((p.kind, p.subject), {})[letter] = run
    for place, ((kind, subject), own) in enumerate(groups.items()):
        for curve, title in _CURVES.get(kind, {}).items():
            if any(run.curves.get(curve) for run in own.values()):
                yield _figure(f"{curve}-{place}", f"{title}: {subject}", curve, own)


def _figure(key: str, title: str, curve: str, own: Named) -> Figure:
    """One curve of every run that has it; all of them of one kind and on one problem or environment."""
    progress = next(p for run in own.values() if (p := run.state.progress))
    along, unit = _ALONG[progress.kind], _unit(curve, progress)
    # A run without this curve keeps its place, so that a run looks the same on every chart.
    drawn = tuple(_series(letter, curve, run) for letter, run in own.items())
    series = [each for each in drawn if each.xs]
    show: Callable[[float], str] = (lambda value: percent(value, 1)) if curve == "gap" else number
    y = axis_for(unit, [value for each in series for value in _settled(each)], show=show)
    x = axis_for(along, [x for each in series for x in each.xs], floor=0, integer=True, show=whole)
    ends = f"In the end: {'; '.join(f'{each.name} {show(each.ys[-1] or 0.0)}' for each in series)}."
    points = [(each.name, at, value or 0.0) for each in series for at, value in zip(each.xs, each.ys, strict=True)]
    is_framed = all(y.low <= value <= y.high for _, _, value in points)
    rows = (
        (tables.words(name), tables.real(at, 6), tables.share(value) if curve == "gap" else tables.real(value, 8))
        for name, at, value in points
    )
    drawing = line_chart(Chart(title, ends, x, y, drawn))
    return Figure(
        key, title, ends if is_framed else f"{ends} {BEYOND}", drawing, table(title, ("run", along, unit), rows)
    )


def _series(letter: str, curve: str, run: Glance) -> Series:
    """A curve; that of a search holds its last value as far as the budget is spent."""
    points = run.curves.get(curve, ())
    xs, ys = [x for x, _ in points], [y for _, y in points]
    progress = run.state.progress
    is_stepped = progress is not None and progress.kind == "search"
    if progress and is_stepped and xs and progress.spent > xs[-1]:
        xs, ys = [*xs, progress.spent], [*ys, ys[-1]]
    return Series(letter, xs, ys, stepped=is_stepped)


def _settled(series: Series) -> list[float]:
    """The values that the vertical axis has to hold."""
    values = [value for value in series.ys if value is not None]
    return settled(series.xs, values, series.xs[-1]) if series.stepped else values


def _unit(curve: str, progress: Progress) -> str:
    names = {"best": progress.score_name, "gap": "gap to the best known", "val": "score (maximised)",
             "training": "score (maximised)"}  # fmt: skip
    return names.get(curve, "mean reward (maximised)")


def _flat(path: Path) -> dict[str, Any]:
    try:
        return dotted(RunDirectory.open(path).config())
    except (CoevoError, OSError):
        return {}
