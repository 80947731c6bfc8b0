"""The splits of a problem by name, and those that are drawn from one stream, one after the other."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from coevo.errors import ConfigError

T = TypeVar("T")

Part = tuple[str | None, int, int]
"""A part of a stream: the split (None where no split uses these instances), instances, size of each."""


def split_names(stream: Iterable[Part]) -> list[str]:
    """The splits of a stream, in its order."""
    return [name for name, _, _ in stream if name]


def check_split(problem: str, split: str, known: Iterable[str]) -> None:
    """Refuse a split that a problem does not have.

    Raises:
        ConfigError: If it is none of those known; the message lists them.
    """
    known = list(known)
    if split not in known:
        raise ConfigError(f"expected a split of the problem {problem} ({', '.join(known)}), got {split!r}")


def draw_split(stream: Iterable[Part], split: str, draw: Callable[[int, int], T]) -> tuple[int, T]:
    """Draw everything up to a split, which the stream must have.

    Args:
        stream: Its parts, in order.
        split: Name of the part to return.
        draw: Called as `draw(instances, size)` for each part in turn, up to the split's; advances the generator.

    Returns:
        How many instances come before the split's first, and what was drawn for it.
    """
    place = 0
    for name, count, size in stream:
        drawn = draw(count, size)
        if name == split:
            return place, drawn
        place += count
    raise ValueError(f"expected a split of the stream, got {split!r}")
