"""The figures of a tuning run's page."""

import math
from collections.abc import Sequence

from coevo.reporting import tables
from coevo.reporting.axes import axis_for
from coevo.reporting.bars import Bars, bar_chart
from coevo.reporting.chart import Chart, Series, line_chart
from coevo.reporting.figures import Figure
from coevo.reporting.tables import table
from coevo.reporting.text import count, number, whole
from coevo.reporting.tune_story import TuneStory
from coevo.tuning.config import VAL

ENDED = {
    "done": "by its rules", "truncated": "environment's limit", "turns": "limit of turns",
    "tokens": "limit of tokens", "context": "beyond the context", "fault": "surroundings failed",
}  # fmt: skip
"""Why an episode was over, as a page says it."""

_LONGEST = 6
"""Characters of a name beside a bar."""


def on_val(story: TuneStory) -> Figure | None:
    """The unperturbed model's score on `val` against the generation."""
    found = [each for each in story.on(VAL) if each.found.mean is not None]
    if not found:
        return None
    places = [each.generation for each in found]
    curve = Series(VAL, places, [e.found.mean for e in found], errors=[e.found.error for e in found])
    caption = (
        "Mean score of the unperturbed model on the split val, maximised; bars are one standard error over its tasks. "
        "All measurements have the same tasks and seeds. This split chooses the weights, so its best value flatters."
    )
    rows = (
        (tables.whole(e.generation), tables.real(e.found.mean, 4), tables.real(e.found.error, 3),
         tables.whole(e.found.tasks), tables.whole(e.found.episodes), tables.real(e.found.turns, 4),
         tables.real(e.found.tokens, 5), tables.whole(e.found.faults))
        for e in found
    )  # fmt: skip
    heads = ("generation", "score", "standard error", "tasks", "episodes", "turns", "tokens", "faults")
    numbers = table("Measurements on val", heads, rows)
    return _by_generation("val", "Score on val", "score (maximised)", caption, curve, numbers)


def members(story: TuneStory) -> Figure | None:
    """What the perturbed models earned."""
    if not story.steps:
        return _without_members(story)
    curve = Series(
        "members",
        [step.generation for step in story.steps],
        [step.mean_reward for step in story.steps],
        errors=[step.spread for step in story.steps],
    )
    caption = (
        "Mean over the members of a generation of the mean score of their training episodes; bars are their standard "
        "deviation, by which rewards are divided. Generations play different tasks unless they play them all."
    )
    dropped = {each.generation: each.dropped for each in story.generations}
    rows = (
        (tables.whole(s.generation), tables.real(s.mean_reward, 4), tables.real(s.spread, 3),
         tables.whole(len(dropped.get(s.generation, ()))), tables.words(", ".join(dropped.get(s.generation, ()))))
        for s in story.steps
    )  # fmt: skip
    heads = ("generation", "mean score", "spread over members", "tasks dropped", "which")
    numbers = table("Members by generation", heads, rows)
    return _by_generation("members", "What the members score", "score (maximised)", caption, curve, numbers)


def _without_members(story: TuneStory) -> Figure | None:
    """What training episodes scored where one model played them all."""
    places = [each.generation for each in story.generations]
    found = [each.found for each in story.generations]
    curve = Series("training", places, [e.mean for e in found], errors=[e.error for e in found])
    caption = "Mean score of a generation's training episodes; bars are one standard error over its tasks."
    rows = (
        (tables.whole(each.generation), tables.real(each.found.mean, 4), tables.real(each.found.error, 3),
         tables.whole(len(each.dropped)), tables.words(", ".join(each.dropped)))
        for each in story.generations
    )  # fmt: skip
    numbers = table("Training by generation", ("generation", "score", "standard error", "tasks dropped", "which"), rows)
    return _by_generation("members", "What training episodes score", "score (maximised)", caption, curve, numbers)


def lengths(story: TuneStory) -> list[Figure]:
    """Turns and tokens of training episodes."""
    if not story.generations:
        return []
    places = [each.generation for each in story.generations]
    found = []
    for key, title, values in (
        ("turns", "Turns of an episode", [each.found.turns for each in story.generations]),
        ("tokens", "Tokens of an episode", [each.found.tokens for each in story.generations]),
    ):
        rows = ((tables.whole(place), tables.real(value, 5)) for place, value in zip(places, values, strict=True))
        caption = f"Mean {key} of the members' training episodes in each generation."
        numbers = table(title, ("generation", key), rows)
        figure = _by_generation(key, title, f"{key} per episode", caption, Series(key, places, values), numbers)
        found += [figure] if figure else []
    return found


def gradients(story: TuneStory) -> list[Figure]:
    """What a baseline's updates came to; the divergence where it is part of the loss."""
    places = [each.generation for each in story.gradients]
    curves = [
        ("loss", "Loss", "the loss that is minimised", [each.loss for each in story.gradients]),
        ("norm", "Gradient norm", "the gradient's length before it is clipped", [g.norm for g in story.gradients]),
    ]
    if story.settings.baseline.kl > 0:
        values = [each.kl for each in story.gradients]
        curves.append(("kl", "Divergence", "the estimated divergence from the first weights", values))
    rows = [
        (tables.whole(g.generation), tables.real(g.loss, 4), tables.real(g.kl, 4), tables.real(g.norm, 4),
         tables.whole(g.updates))
        for g in story.gradients
    ]  # fmt: skip
    numbers = table("Updates by generation", ("generation", "loss", "divergence", "gradient norm", "updates"), rows)
    found = (
        _by_generation(key, title, title.lower(), f"Mean over a generation's updates of {meaning}.",
                       Series(key, places, values), numbers)
        for key, title, meaning, values in curves
    )  # fmt: skip
    return [figure for figure in found if figure]


def endings(story: TuneStory) -> Figure | None:
    """Why episodes were over, by what they were played for."""
    if not story.ended:
        return None
    found = {name: {ENDED[why]: n for why, n in counts.items()} for name, counts in story.ended.items()}
    parts = tuple(name for why, name in ENDED.items() if any(why in counts for counts in story.ended.values()))
    total = sum(sum(counts.values()) for counts in found.values())
    bars = {_shortened(name): counts for name, counts in found.items()}
    drawing = bar_chart(Bars("Why episodes were over", f"{count(total)} episodes.", parts, bars))
    rows = ((tables.words(name), *(tables.whole(n.get(part, 0)) for part in parts)) for name, n in found.items())
    caption = "By what they were played for. Where the surroundings failed, an episode counts for nobody."
    numbers = table("Endings of episodes", ("played for", *parts), rows)
    return Figure("endings", "Why episodes were over", caption, drawing, numbers)


def _shortened(name: str) -> str:
    """A name that fits before its bar; the table has it whole."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def _by_generation(
    key: str, title: str, label: str, caption: str, curve: Series, numbers: tables.Table
) -> Figure | None:
    known = [value for value in curve.ys if value is not None]
    if not known:
        return None
    ends = [end for _, low, high in curve.bars() for end in (low, high)]
    x = axis_for("generation", curve.xs, integer=True, show=whole)
    y = axis_for(label, _finite([*known, *ends]), show=lambda value: number(value, 3))
    description = f"{len(known)} points; from {number(known[0], 3)} to {number(known[-1], 3)}."
    drawing = line_chart(Chart(title, description, x, y, (curve,), labelled=False))
    return Figure(key, title, caption, drawing, numbers)


def _finite(values: Sequence[float]) -> list[float]:
    return [value for value in values if math.isfinite(value)]
