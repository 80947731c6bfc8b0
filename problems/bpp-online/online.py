"""The protocol of online bin packing: offer the bins, ask for scores, place the item; nothing else of the problem.

A heuristic is offered every bin where the item fits, among as many as there are items, in order. Most of them have
never been used. So only bins up to the last one used are looked through; all others are appended as they are.
"""

from collections.abc import Callable
from typing import Any

import numpy as np


def pack_online(score: Callable[[int, np.ndarray], Any], sizes: np.ndarray, capacity: int) -> np.ndarray:
    """Place the items in order, each into the bin with the largest score, the first of equals.

    Args:
        score: Called as `score(item, bins)`; `bins` is a float64 array of its own each time.
        sizes: Shape (n,), integers from 1 to the capacity.
        capacity: Of every bin.

    Returns:
        The bin of each item, one of 0 … n − 1, int64, shape (n,).

    Raises:
        TypeError, ValueError: If the scores are not one real number per bin; NaN is none.
    """
    left = np.full(len(sizes), float(capacity))
    packing = []
    touched = 0
    for item in sizes.tolist():
        fitting = (left[:touched] >= item).nonzero()[0]
        offered = np.concatenate((left[fitting], left[touched:]))
        place = _first_largest(score(item, offered), offered.size)
        chosen = int(fitting[place]) if place < len(fitting) else touched + place - len(fitting)
        left[chosen] -= item
        packing.append(chosen)
        touched = max(touched, chosen + 1)
    return np.array(packing, dtype=np.int64)


def _first_largest(scores: Any, count: int) -> int:
    """Place of the largest of `count` scores."""
    scores = np.asarray(scores)
    if scores.dtype.kind not in "fiu":
        raise TypeError(f"expected score to return an array of real numbers, got {scores.dtype}")
    if scores.shape != (count,):
        raise ValueError(f"expected score to return one number for each of {count} bins, got shape {scores.shape}")
    place = int(scores.argmax())
    # NumPy takes a NaN for the largest, so if there is any, it is this one.
    if scores[place] != scores[place]:
        raise ValueError(f"expected score to return numbers, got NaN for bin {place} of {count}")
    return place
