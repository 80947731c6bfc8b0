"""Long runs on a page that is drawn again and again: of many generations, steps and children some are left out."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from coevo.reporting.figures import Figure
from coevo.reporting.story import RunStory

MOST = 120
"""Generations, and steps, that a chart and its table hold."""

MOST_DOTS = 2000
"""Children that are drawn as dots."""
MOST_ROWS = 60
"""Rows of a chart's table."""

T = TypeVar("T")


def thinned(story: RunStory) -> RunStory:
    """The story with at most about `MOST` generations and steps, at equal distances, the last ones among them.

    Only for figures: sums over what is left are not those of the run.
    """
    kept = {each.generation for each in spaced(story.generations)}
    return replace(
        story,
        children=dots(story.children),
        generations=tuple(each for each in story.generations if each.generation in kept),
        batches=tuple(each for each in story.batches if each.generation in kept),
        steps=spaced(story.steps),
        guards=spaced(story.guards),
    )


def spaced(values: Sequence[T]) -> tuple[T, ...]:
    """Every n-th value, with the least n for which `MOST` are enough, and the last one."""
    every = -(-len(values) // MOST) or 1
    last = len(values) - 1
    return tuple(value for place, value in enumerate(values) if place % every == 0 or place == last)


def dots(values: Sequence[T]) -> tuple[T, ...]:
    """Every n-th value, and the last one; n is a power of two, so that as a run grows no dot comes between others."""
    every = 1 << max(0, (len(values) - 1) // MOST_DOTS).bit_length()
    last = len(values) - 1
    kept = values[::every]
    return tuple(kept) if last % every == 0 or last < 0 else (*kept, values[last])


def noted(figure: Figure, shown: int, whole: int, what: str = "are drawn") -> Figure:
    """A figure that says what was left out of it, if anything was."""
    if shown == whole:
        return figure
    return replace(figure, caption=f"{figure.caption} {shown} of {whole} {what}; coevo report draws them all.")


def shortened(figure: Figure) -> Figure:
    """A figure whose table has at most `MOST_ROWS` rows, the last ones, and says so."""
    rows = figure.table.rows
    if len(rows) <= MOST_ROWS:
        return figure
    caption = f"{figure.table.caption}: the last {MOST_ROWS} of {len(rows)} rows; coevo report has them all"
    return replace(figure, table=replace(figure.table, caption=caption, rows=rows[-MOST_ROWS:]))
