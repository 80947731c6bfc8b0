"""Greedy from every first item: Sahni's approximation scheme of order 1 (J. ACM 22, 1975)."""

import numpy as np
from numba import njit

from coevo.interfaces import Instance


def best_completed_greedy(instance: Instance) -> np.ndarray:
    """Ids of the best of n + 1 sets: the plain greedy one, and for each item that fits, itself and greedy after it.

    Greedy takes items by falling value per weight, those without weight first, and skips what no longer fits; ties go
    to the lower id. At least half of the optimum, and O(n²).
    """
    weights, values = instance.data["weights"], instance.data["values"]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(weights > 0, values / weights, np.inf)
    order = np.argsort(-ratios, kind="stable")
    return complete_greedily(order, weights, values, float(instance.data["capacity"]))


@njit(cache=True)
def complete_greedily(order, weights, values, capacity):
    """The best set found, as ids in the order in which they were taken.

    Args:
        order: Ids in the order in which greedy takes them, shape (n,), int64.
        weights: Shape (n,), float64.
        values: Shape (n,), float64.
        capacity: Most that a set may weigh.
    """
    count = len(order)
    best_value, best_first = -1.0, -1
    for first in range(-1, count):
        if first >= 0 and weights[first] > capacity:
            continue
        left = capacity - weights[first] if first >= 0 else capacity
        value = values[first] if first >= 0 else 0.0
        for item in order:
            if item != first and weights[item] <= left:
                left -= weights[item]
                value += values[item]
        if value > best_value:
            best_value, best_first = value, first
    chosen = np.empty(count, np.int64)
    size, left = 0, capacity
    if best_first >= 0:
        chosen[0] = best_first
        size, left = 1, capacity - weights[best_first]
    for item in order:
        if item != best_first and weights[item] <= left:
            left -= weights[item]
            chosen[size] = item
            size += 1
    return chosen[:size].copy()
