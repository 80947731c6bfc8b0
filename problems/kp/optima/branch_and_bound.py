"""Exact 0/1 knapsack by depth-first branch and bound with Dantzig's linear bound (after Horowitz and Sahni 1974).

Float arithmetic is kept from cutting off an optimum: a subtree is left only if its bound is more than `SLACK` below the
best value, which is far more than the rounding errors of some hundred additions. A set that fits, or fails to, by no
more than such an error could be misjudged; `compute.py` compares with OR-Tools, which calculates in exact integers.
"""

import numpy as np
from numba import njit

SLACK = 1e-10


def solve_exactly(capacity, weights, values):
    """Ids of a most valuable set of items that weighs at most the capacity, ascending, int64.

    Args:
        capacity: At least 0.
        weights: Shape (n,), not negative.
        values: Shape (n,), not negative, of order 1: `SLACK` is absolute.
    """
    order = np.argsort(-values / np.maximum(weights, 1e-300), kind="stable")
    taken = _search(capacity, weights[order], values[order])
    return np.sort(order[taken])


@njit
def _search(capacity, weights, values):
    """Which of the items, sorted by falling value per weight, an optimal set holds: bool, shape (n,)."""
    count = len(weights)
    taken, best = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    left, value, best_value, item = capacity, 0.0, -1.0, 0
    while True:
        if _bound(item, left, value, weights, values) >= best_value - SLACK:
            while item < count:
                if weights[item] <= left:
                    taken[item] = True
                    left -= weights[item]
                    value += values[item]
                elif _bound(item + 1, left, value, weights, values) < best_value - SLACK:
                    break
                item += 1
            if item == count and value > best_value:
                best_value = value
                best = taken.copy()
        item = min(item, count) - 1
        while item >= 0 and not taken[item]:
            item -= 1
        if item < 0:
            return best
        # Recomputed rather than added back, so that rounding errors do not pile up over the search.
        taken[item] = False
        left, value = capacity, 0.0
        for each in range(item):
            if taken[each]:
                left -= weights[each]
                value += values[each]
        item += 1


@njit
def _bound(item, left, value, weights, values):
    """Value of the linear relaxation over the items from this one on."""
    while item < len(weights) and weights[item] <= left:
        left -= weights[item]
        value += values[item]
        item += 1
    return value + values[item] * (left / weights[item]) if item < len(weights) else value
