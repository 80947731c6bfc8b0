"""Long runs on a page that is drawn again and again: of many generations and steps some are left out."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from coevo.reporting.figures import Figure
from coevo.reporting.story import RunStory

MOST = 120
"""Generations, and steps, that a chart and its table hold."""

T = TypeVar("T")


def thinned(story: RunStory) -> RunStory:
    """The story with at most about `MOST` generations and steps, at equal distances, the last ones among them.

    Only for figures by generation or step: sums over what is left are not those of the run.
    """
    kept = {each.generation for each in spaced(story.generations)}
    return replace(
        story,
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


def noted(figure: Figure, shown: int, whole: int) -> Figure:
    """A figure that says what was left out of it, if anything was."""
    if shown == whole:
        return figure
    return replace(figure, caption=f"{figure.caption} {shown} of {whole} are drawn; coevo report draws them all.")
