"""Minimum bin slack (Gupta and Ho 1999), with luck: open each bin with the largest item and leave as little as can be.

Of the many ways to leave as little, one with large items is likely, so that small ones, which fit anywhere, stay.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]


def fill_bins(widths: list[int], counts: IntArray, capacity: int, rng: np.random.Generator) -> list[IntArray]:
    """Patterns, one per bin, that hold all items together.

    Args:
        widths: Distinct sizes, descending.
        counts: Items of each width, shape (widths,).
        capacity: Of every bin, at least the largest width.
        rng: Draws how much each bin favours large items, and which.

    Returns:
        How many items of each width a bin holds, int64, shape (widths,), bin by bin.
    """
    left = counts.tolist()
    bins = []
    while any(left):
        lead = next(place for place, count in enumerate(left) if count)
        left[lead] -= 1
        pattern = _fullest(widths, left, capacity - widths[lead], rng)
        left = [count - taken for count, taken in zip(left, pattern, strict=True)]
        pattern[lead] += 1
        bins.append(np.array(pattern, dtype=np.int64))
    return bins


def _fullest(widths: list[int], left: list[int], room: int, rng: np.random.Generator) -> list[int]:
    """How many items of each width to take so that their total is the largest one up to `room`."""
    order = [place for place, width in enumerate(widths) if left[place] and width <= room]
    factors: Any = 1.0 + rng.random() * rng.random(len(widths))
    order.sort(key=lambda place: -widths[place] * factors[place])
    # Bit t of a number says whether the items seen so far can make a total of t.
    reached, steps = 1, []
    within = (1 << (room + 1)) - 1
    for place in order:
        for _ in range(min(left[place], room // widths[place])):
            steps.append((place, reached))
            reached |= reached << widths[place] & within
    pattern = [0] * len(widths)
    total = reached.bit_length() - 1
    for place, before in reversed(steps):
        # An item that comes late in the order is taken only where those before it cannot do without.
        if not before >> total & 1:
            pattern[place] += 1
            total -= widths[place]
    return pattern
