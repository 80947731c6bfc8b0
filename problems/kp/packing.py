"""A set of items: the check that it is one, and exact sums over it."""

import math

import numpy as np

from coevo.errors import Infeasible


def check_items(solution: np.ndarray, num_items: int) -> np.ndarray:
    """The ids as int64, shape (chosen,), once they are known to be distinct and in range.

    Accepts whatever came out of the sandbox, so any array is answered by a result or by `Infeasible`.
    """
    items = np.asarray(solution)
    if items.ndim != 1:
        raise Infeasible(f"expected a solution as a 1-D array of item ids, got shape {items.shape}")
    if not np.issubdtype(items.dtype, np.integer):
        raise Infeasible(f"expected a solution of integer item ids, got {items.dtype}")
    outside = np.flatnonzero((items < 0) | (items >= num_items))
    if outside.size:
        raise Infeasible(f"item {items[outside[0]]} at position {outside[0]} is not one of 0 to {num_items - 1}")
    items = items.astype(np.int64)
    counts = np.bincount(items, minlength=num_items)
    if np.any(counts > 1):
        raise Infeasible(f"item {counts.argmax()} is chosen {counts.max()} times")
    return items


def total(amounts: np.ndarray, items: np.ndarray) -> float:
    """Sum of the amounts of these items, rounded once, so that it does not depend on their order."""
    return math.fsum(amounts[items].tolist())
