"""The figures of a run's page: each a chart, a sentence on how to read it, and its numbers as a table."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from coevo.reporting import tables
from coevo.reporting.axes import Axis, axis_for
from coevo.reporting.bars import Bars, bar_chart
from coevo.reporting.chart import Chart, Point, Series, line_chart
from coevo.reporting.ending import Yardstick
from coevo.reporting.story import BatchStory, Fate, RunStory
from coevo.reporting.tables import Table, table
from coevo.reporting.text import count, number, percent, whole
from coevo.reporting.wording import reward_in_words

FATES: dict[Fate, str] = {
    "new": "valid and new",
    "repeat": "repeat of a child",
    "copy": "copy of a parent",
    "failed": "not valid",
}
UNJUDGED = "not judged yet"
BEYOND = "The first values lie beyond the frame."
_EARLY = 0.05
"""Share of the budget after which a curve counts as settled; what comes before may lie off the axis."""
_ROOM = 0.6
"""Room for what is worse than the first candidate, as a share of the way the search came; all of it would flatten the
curve."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart with its numbers. `key` is its anchor in the page."""

    key: str
    title: str
    caption: str
    drawing: Markup
    table: Table


def direction(story: RunStory) -> str:
    """In which direction the objective is better, in a word."""
    return "minimised" if story.sense == "min" else "maximised"


def progress(story: RunStory) -> Figure | None:
    """The best objective so far against the budget, with every valid child as a dot."""
    if not story.improvements:
        return None
    last = max([child.place for child in story.children] + [story.improvements[-1].place])
    places = [each.place for each in story.improvements]
    values = [each.objective for each in story.improvements]
    dots = [(float(c.place), story.sign * c.cost) for c in story.children if c.cost is not None]
    y = _framed(story, settled(places, values, last), dots)
    off = sum(not y.low <= value <= y.high for _, value in dots)
    curve = Series("best so far", [*places, last], [*values, values[-1]], stepped=True)
    best = story.improvements[-1]
    caption = (
        f"Mean objective on the search split, {direction(story)}. The line is the best so far, each dot a valid child"
        + (f"; {count(off)} worse ones are triangles at the edge" if off else "")
        + (". The right axis reads the same as gap to the best known." if story.reference else ".")
        + ("" if y.low <= values[0] <= y.high else f" {BEYOND}")
    )
    description = (
        f"From {number(values[0])} at completion {places[0]} to {number(best.objective)} at completion {best.place}, "
        f"in {len(values) - 1} improvements."
    )
    chart = Chart(
        "Best objective so far",
        description,
        axis_for("charged completions", [0, last, story.budget.planned], floor=0, integer=True, show=whole),
        y,
        (curve,),
        right=_gap_axis(story, y),
        dots=tuple(dots),
        labelled=False,
    )
    heads = ("completion", "operator", "candidate", "objective", "gap")
    rows = [
        (tables.whole(i.place), tables.words(i.operator), tables.code(i.candidate), tables.real(i.objective, 8),
         tables.share(i.gap))
        for i in story.improvements
    ]  # fmt: skip
    numbers = table("Every improvement", heads, rows)
    return Figure("progress", "Objective against budget", caption, line_chart(chart), numbers)


def _framed(story: RunStory, values: Sequence[float], dots: Sequence[Point]) -> Axis:
    """A vertical axis that shows the settled curve and the children near it; all of them if it is flat."""
    first, last = values[0], values[-1]
    limit = first + _ROOM * (first - last)
    worst = max((story.sign * value for _, value in dots), default=story.sign * first)
    shown = story.sign * (worst if first == last else min(worst, story.sign * limit))
    return axis_for(f"objective ({direction(story)})", [*values, shown])


def settled(places: Sequence[float], values: Sequence[float], last: float) -> list[float]:
    """The values of a stepped curve from the first few per cent of the budget on: the first one can be far off.

    Args:
        places: Where the curve changes, ascending.
        values: To what.
        last: Where it ends.
    """
    begin = bisect_right(places, _EARLY * last)
    return list(values[max(begin - 1, 0) :])


def _gap_axis(story: RunStory, y: Axis) -> Axis | None:
    """The vertical axis in per cent of the best-known value: the gap is linear in the objective."""
    known = {} if story.reference is None else {"search": story.reference}
    low, high = (Yardstick(story.sense, known).gap(value) for value in (y.low, y.high))
    if low is None or high is None:
        return None
    return Axis("gap", low, high, show=lambda value: percent(value, 0 if abs(high - low) > 0.05 else 1))


def valid_share(story: RunStory) -> Figure | None:
    """Valid children per child, by operator and generation."""
    return _by_operator(
        story,
        "valid",
        "Valid share",
        "Share of the children that solve every instance of the search split feasibly and in time.",
        [batch.valid_share for batch in story.batches],
        Axis("valid children", 0.0, 1.0, show=lambda value: percent(value, 0)),
    )


def mean_reward(story: RunStory) -> Figure | None:
    """Mean reward, by operator and generation."""
    rewards = [batch.reward for batch in story.batches]
    known = [reward for reward in rewards if reward is not None]
    if not known:
        return None
    caption = f"Mean reward of the children, maximised. {reward_in_words(story.settings)}"
    return _by_operator(story, "reward", "Mean reward", caption, rewards, axis_for("reward (maximised)", known))


def _by_operator(
    story: RunStory, key: str, title: str, caption: str, values: Sequence[float | None], y: Axis
) -> Figure | None:
    if not story.batches:
        return None
    known: dict[str, list[tuple[int, float | None]]] = {}
    for batch, value in zip(story.batches, values, strict=True):
        known.setdefault(batch.operator, []).append((batch.generation, value))
    series = [Series(name, [g for g, _ in pairs], [v for _, v in pairs]) for name, pairs in known.items()]
    series = [each for each in series if each.parts()]
    last = "; ".join(f"{s.name} {y.show(v)}" for s in series if (v := s.ys[-1]) is not None)
    x = _generations(story)
    drawing = line_chart(Chart(title, f"By operator and generation; last: {last}.", x, y, tuple(series)))
    return Figure(key, title, caption, drawing, _batch_table(story.batches))


def _batch_table(batches: Iterable[BatchStory]) -> Table:
    rows = (
        (tables.whole(b.generation), tables.words(b.operator), tables.whole(b.children), tables.whole(b.valid),
         tables.share(b.valid_share), tables.real(b.reward, 5))
        for b in batches
    )  # fmt: skip
    heads = ("generation", "operator", "children", "valid", "share", "mean reward")
    return table("Batches", heads, rows)


def spending(story: RunStory) -> Figure | None:
    """What became of the completions of each operator."""
    uses = [use for use in story.operators if use.asked]
    if not uses:
        return None
    rows = {use.operator: {FATES[fate]: use.fates.get(fate, 0) for fate in FATES} for use in uses if use.fates}
    for use in uses:
        if use.operator in rows:
            rows[use.operator][UNJUDGED] = use.asked - sum(use.fates.values())
    parts = (*FATES.values(), UNJUDGED)
    total = sum(use.asked for use in uses)
    description = f"{count(total)} completions of {len(uses)} operators."
    heads = ("operator", "completions asked", "answered", *FATES.values(), "cut off", "tokens")
    cells = (
        (tables.words(use.operator), tables.whole(use.asked), tables.whole(use.answered),
         *(tables.whole(use.fates.get(fate, 0)) for fate in FATES), tables.whole(use.cut_off), tables.whole(use.tokens))
        for use in uses
    )  # fmt: skip
    caption = "What became of each operator's completions. Only a valid candidate that is new can enter the population."
    drawing = bar_chart(Bars("Where the budget went", description, parts, rows))
    return Figure("spending", "Where the budget went", caption, drawing, table("Completions by operator", heads, cells))


def diversity(story: RunStory) -> Figure | None:
    """How many children of a generation differ, as candidates and in cost."""
    generations = story.generations
    if not generations:
        return None
    xs = [each.generation for each in generations]
    candidates = Series("candidates", xs, [each.candidates / each.children for each in generations])
    costs = Series("costs", xs, [each.costs / each.valid if each.valid else None for each in generations])
    y = Axis("share that differs", 0.0, 1.0, show=lambda value: percent(value, 0))
    description = f"{len(xs)} generations, generation 0 being the first population."
    drawing = line_chart(Chart("Diversity of the children", description, _generations(story), y, (candidates, costs)))
    caption = "Different candidates per child, and different costs per valid child, in each generation."
    return Figure("diversity", "Diversity of the children", caption, drawing, _generation_table(story))


def population(story: RunStory) -> Figure | None:
    """Best and worst objective in the population after each generation."""
    ended = [each for each in story.generations if each.best is not None and each.worst is not None]
    if not ended:
        return None
    xs = [each.generation for each in ended]
    best = Series("best", xs, [story.sign * (each.best or 0.0) for each in ended])
    worst = Series("worst", xs, [story.sign * (each.worst or 0.0) for each in ended])
    values = [value for each in (best, worst) for value in each.ys if value is not None]
    y = axis_for(f"objective ({direction(story)})", values)
    description = f"The population after {len(xs)} generations."
    drawing = line_chart(Chart("The population", description, _generations(story), y, (best, worst)))
    caption = "Best and worst objective in the population after each generation: how far apart what is kept lies."
    return Figure("population", "The population", caption, drawing, _generation_table(story))


def _generation_table(story: RunStory) -> Table:
    heads = ("generation", "children", "valid", "different candidates", "different costs", "best", "worst")
    rows = (
        (*map(tables.whole, (g.generation, g.children, g.valid, g.candidates, g.costs)),
         *(tables.real(None if cost is None else story.sign * cost) for cost in (g.best, g.worst)))
        for g in story.generations
    )  # fmt: skip
    return table("Generations", heads, rows)


def _generations(story: RunStory) -> Axis:
    return axis_for("generation", [batch.generation for batch in story.batches], integer=True, show=whole)
