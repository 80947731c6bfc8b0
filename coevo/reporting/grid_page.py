"""The page of a grid: what its arms came to, seed by seed, and what they cost."""

import statistics
from collections.abc import Sequence

from markupsafe import Markup

from coevo.experiments.rows import Row
from coevo.reporting import tables
from coevo.reporting.axes import axis_for
from coevo.reporting.chart import Chart, Series, line_chart
from coevo.reporting.figures import BEYOND, Figure, settled
from coevo.reporting.grid_story import ArmResult, GridStory, MeanCurve
from coevo.reporting.intervals import Interval, interval_chart
from coevo.reporting.page import render
from coevo.reporting.run_page import Fact
from coevo.reporting.tables import Cell, Table, table
from coevo.reporting.text import DASH, count, number, whole
from coevo.searching.metering import valid_share

_COSTS = ("operator", "on_top", "skill", "tokens", "wall_s", "evaluator_search_s")


def grid_page(story: GridStory) -> str:
    """The page of a grid as HTML."""
    return render(
        "grid.html.j2",
        story=story,
        facts=_facts(story),
        means=[_means(story, budget) for budget in dict.fromkeys(row.budget for row in story.rows)],
        differences=_differences(story),
        curves=_curve_figures(story),
        costs=_costs(story),
        missing=[row for row in story.rows if row.state != "done"],
        cells=_cells(story),
    )


def _facts(story: GridStory) -> tuple[Fact, ...]:
    done = sum(row.state == "done" for row in story.rows)
    spent = sum((row.operator or 0) + (row.on_top or 0) + (row.skill or 0) for row in story.rows)
    seeds = dict.fromkeys(row.seed for row in story.rows)
    return (
        Fact("cells done", f"{count(done)} of {count(len(story.rows))}"),
        Fact("problems", count(len({row.problem for row in story.rows}))),
        Fact("arms", count(len({row.arm for row in story.rows}))),
        Fact("seeds", count(len(seeds)), ", ".join(map(str, seeds))),
        Fact("completions", count(spent), "of all meters"),
    )


def _means(story: GridStory, budget: int) -> Table:
    """Mean objective of each arm on each split at one budget, with its spread over seeds."""
    own = [row for row in story.rows if row.budget == budget]
    columns = list(dict.fromkeys((r.problem, r.split, r.sense) for r in story.results if r.budget == budget))
    heads = ["arm", *(f"{problem} {split} {'↓' if sense == 'min' else '↑'}" for problem, split, sense in columns)]
    rows = [
        [
            tables.words(arm),
            *(_mean([r for r in own if (r.arm, r.problem) == (arm, p)], split) for p, split, _ in columns),
        ]
        for arm in dict.fromkeys(row.arm for row in own)
    ]
    return table(f"Mean objective at {count(budget)} completions, ± standard deviation over seeds", heads, rows)


def _mean(rows: Sequence[Row], split: str) -> Cell:
    values = [value for row in rows if row.state == "done" and (value := row.objectives.get(split)) is not None]
    if not values:
        return Cell(DASH)
    spread = f" ± {number(statistics.stdev(values), 2)}" if len(values) > 1 else ""
    mean = statistics.fmean(values)
    return Cell(number(mean) + spread, mean)


def _differences(story: GridStory) -> list[Figure]:
    """One figure for each pair of arms."""
    groups: dict[tuple[str, str, str], list[ArmResult]] = {}
    for result in story.results:
        groups.setdefault((result.equal, result.arm, result.baseline), []).append(result)
    return [_pair(place, *key, group) for place, (key, group) in enumerate(groups.items())]


def _pair(place: int, equal: str, arm: str, baseline: str, results: Sequence[ArmResult]) -> Figure:
    shown = [(r, value) for r in results if (value := r.relative(r.difference)) is not None]
    several = len({r.budget for r in results}) > 1
    intervals = [
        Interval(_label(r, with_budget=several), value, r.relative(r.low), r.relative(r.high)) for r, value in shown
    ]
    title = f"{arm} against {baseline}"
    compared = _compared(results)
    caption = (
        f"{compared} Mean difference over paired seeds as a share of the baseline's mean, at equal {equal} "
        "completions; positive favours the arm. The line is the 95 % interval of the mean, where there are two pairs "
        "or more."
    )
    if left_out := len(results) - len(shown):
        caption += f" {count(left_out)} without such a share are in the table alone."
    heads = ("split", "pairs", "arm", "baseline", "difference", "low", "high", "wins", "ties", "losses", "p", "outcome")
    rows = (
        (tables.words(_label(r, with_budget=True)), tables.whole(r.pairs),
         *(tables.real(v, 5) for v in (r.mean_arm, r.mean_baseline, r.difference, r.low, r.high)),
         *map(tables.whole, (r.wins, r.ties, r.losses)), tables.real(r.p, 3), tables.words(r.outcome or DASH))
        for r in results
    )  # fmt: skip
    drawing = interval_chart(title, compared, "difference / baseline", intervals) if intervals else Markup("")
    numbers = table(f"Differences, {title}, equal {equal}", heads, rows)
    return Figure(f"pair-{place}", title, caption, drawing, numbers)


def _compared(results: Sequence[ArmResult]) -> str:
    """On how many splits the arm is better, by the rule of the table: equal within its tolerance is a tie."""
    outcomes = [result.outcome for result in results if result.outcome is not None]
    wins, ties, losses = (outcomes.count(name) for name in ("win", "tie", "loss"))
    return f"By its means the arm wins on {wins}, ties on {ties} and loses on {losses} of {len(outcomes)} splits."


def _label(result: ArmResult, *, with_budget: bool) -> str:
    budget = f" {result.budget}" if with_budget else ""
    return f"{result.problem} {result.split}{budget}"


def _curve_figures(story: GridStory) -> list[Figure]:
    groups: dict[tuple[str, int], list[MeanCurve]] = {}
    for curve in story.curves:
        groups.setdefault((curve.problem, curve.budget), []).append(curve)
    return [_curve_figure(place, *key, group) for place, (key, group) in enumerate(groups.items())]


def _curve_figure(place: int, problem: str, budget: int, curves: Sequence[MeanCurve]) -> Figure:
    direction = "minimised" if curves[0].sense == "min" else "maximised"
    series = tuple(Series(c.arm, c.places, c.objectives, stepped=True) for c in curves)
    x = axis_for("charged completions", [p for c in curves for p in c.places], floor=0, integer=True, show=whole)
    shown = [value for c in curves for value in settled(c.places, c.objectives, c.places[-1])]
    y = axis_for(f"objective ({direction})", shown)
    title = f"{problem}, {count(budget)} completions"
    ends = "; ".join(f"{c.arm} {number(c.objectives[-1])}" for c in curves)
    drawing = line_chart(Chart(title, f"Mean best objective at the end: {ends}.", x, y, series))
    caption = f"Best objective so far on the search split, {direction}: mean over the seeds of each arm."
    if any(not y.low <= c.objectives[0] <= y.high for c in curves):
        caption += f" {BEYOND}"
    heads = ("arm", "seeds", "completions", "mean objective at the end")
    rows = (
        (tables.words(c.arm), tables.whole(c.seeds), tables.whole(c.places[-1]), tables.real(c.objectives[-1], 8))
        for c in curves
    )
    return Figure(f"curve-{place}", title, caption, drawing, table(f"Ends of the curves, {title}", heads, rows))


def _costs(story: GridStory) -> Table:
    """Means per finished cell of each arm."""
    keys = dict.fromkeys((row.problem, row.budget, row.arm) for row in story.rows)
    rows = []
    for problem, budget, arm in keys:
        own = [r for r in story.rows if (r.problem, r.budget, r.arm, r.state) == (problem, budget, arm, "done")]
        valid, children = (sum(getattr(row, name) or 0 for row in own) for name in ("valid", "children"))
        means = (_average([getattr(row, name) for row in own]) for name in _COSTS)
        rows.append([tables.words(f"{problem} {budget} {arm}"), tables.whole(len(own)), *means,
                     tables.share(valid_share(valid, children))])  # fmt: skip
    heads = ("arm", "cells", "charged", "on top", "skill", "tokens", "wall s", "evaluator s", "valid")
    return table("Means per cell", heads, rows)


def _average(values: Sequence[float | None]) -> Cell:
    known = [value for value in values if value is not None]
    return tables.real(statistics.fmean(known)) if known else Cell(DASH)


def _cells(story: GridStory) -> Table:
    splits = list(dict.fromkeys(split for row in story.rows for split in row.objectives))
    heads = ("cell", "state", "completions", "run", *splits)
    rows = (
        (tables.words(row.cell), tables.words(row.status or row.state),
         tables.whole(row.operator) if row.operator is not None else Cell(DASH), tables.code(row.run or DASH),
         *(tables.real(row.objectives.get(split)) for split in splits))
        for row in story.rows
    )  # fmt: skip
    return table("Objective of each cell's best heuristic, by split", heads, rows)
