"""The page that shows several runs side by side: their curves on one chart per problem, their results in a table."""

from collections.abc import Iterable, Mapping, Sequence
from string import ascii_uppercase
from typing import Any

from coevo.experiments.cell_folder import flat
from coevo.reporting import tables
from coevo.reporting.axes import axis_for
from coevo.reporting.chart import Chart, Series, line_chart
from coevo.reporting.figures import BEYOND, Figure, direction, settled
from coevo.reporting.page import render
from coevo.reporting.run_page import STATUSES
from coevo.reporting.story import RunStory
from coevo.reporting.tables import Table, table
from coevo.reporting.text import number, whole

_DIFFERING = 40
"""Longest value of a setting that is shown in full."""


def comparison_page(stories: Sequence[RunStory]) -> str:
    """A page on several runs as HTML; runs are named A, B, C, … in the order given.

    Args:
        stories: One or more; those of one problem share a chart.
    """
    named = dict(zip(_letters(), stories, strict=False))
    problems = {story.problem: story for story in stories}
    return render(
        "comparison.html.j2",
        runs=_runs(named),
        figures=[_curves(problem, named) for problem in problems],
        settings=settings_that_differ({letter: flat(story.settings) for letter, story in named.items()}),
        problems=[story.title for story in problems.values()],
        count=len(stories),
    )


def _letters() -> Iterable[str]:
    """A, B, …, Z, A2, B2 and so on."""
    number = 1
    while True:
        yield from (letter if number == 1 else f"{letter}{number}" for letter in ascii_uppercase)
        number += 1


def _runs(named: dict[str, RunStory]) -> Table:
    heads = ("run", "directory", "problem", "status", "best on search", "gap", "charged", "planned", "on top", "skill",
             "valid", "hours")  # fmt: skip
    rows = (
        (tables.words(letter), tables.code(s.name), tables.words(s.problem),
         tables.words(STATUSES.get(s.status, s.status).partition(":")[0].partition(";")[0]),
         tables.real(s.best.objective if s.best else None), tables.share(s.best.gap if s.best else None),
         *map(tables.whole, (s.budget.operator, s.budget.planned, s.budget.on_top, s.budget.skill, s.valid)),
         tables.real(s.hours, 3))
        for letter, s in named.items()
    )  # fmt: skip
    return table("The runs", heads, rows)


def _curves(problem: str, named: dict[str, RunStory]) -> Figure:
    """The best so far of each run of one problem."""
    own = {letter: story for letter, story in named.items() if story.problem == problem}
    some = next(iter(own.values()))
    series = [_curve(letter, story) for letter, story in own.items() if story.improvements]
    xs = [x for each in series for x in each.xs]
    shown = [y for each in series for y in settled(each.xs, [y for y in each.ys if y is not None], each.xs[-1])]
    y = axis_for(f"objective ({direction(some)})", shown)
    x = axis_for("charged completions", xs, floor=0, integer=True, show=whole)
    ends = "; ".join(f"{each.name} {number(each.ys[-1])}" for each in series)
    description = f"Best objective so far, at the end: {ends or 'none'}."
    drawing = line_chart(Chart(some.title, description, x, y, tuple(series)))
    heads = ("run", "completion", "operator", "candidate", "objective", "gap")
    rows = (
        (tables.words(letter), tables.whole(i.place), tables.words(i.operator), tables.code(i.candidate),
         tables.real(i.objective, 8), tables.share(i.gap))
        for letter, story in own.items()
        for i in story.improvements
    )  # fmt: skip
    caption = f"Best mean objective so far on the search split, {direction(some)}, against charged completions."
    if any(not y.low <= each.improvements[0].objective <= y.high for each in own.values() if each.improvements):
        caption += f" {BEYOND}"
    return Figure(f"curves-{problem}", some.title, caption, drawing, table("Every improvement", heads, rows))


def _curve(letter: str, story: RunStory) -> Series:
    last = max([child.place for child in story.children] + [story.improvements[-1].place])
    values = [each.objective for each in story.improvements]
    return Series(letter, [*(each.place for each in story.improvements), last], [*values, values[-1]], stepped=True)


def settings_that_differ(settings: Mapping[str, Mapping[str, Any]]) -> Table | None:
    """The settings in which runs differ, or None where they are all alike.

    Args:
        settings: Name of each run -> its settings, flat.
    """
    keys = dict.fromkeys(key for values in settings.values() for key in values)
    rows = [(key, [values.get(key) for values in settings.values()]) for key in keys]
    differing = [
        [tables.words(key), *(tables.words(_short(value)) for value in row)]
        for key, row in rows
        if any(value != row[0] for value in row)
    ]
    return table("Settings that differ", ("setting", *settings), differing) if differing else None


def _short(value: object) -> str:
    text = "–" if value is None else str(value)
    return text if len(text) <= _DIFFERING else f"{text[:_DIFFERING]}…"
