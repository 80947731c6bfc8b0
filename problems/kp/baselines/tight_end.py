"""Greedy by value per weight that, towards the end, also looks at what an item would leave unused."""

import numpy as np


def select_next_item(remaining_capacity, weights, values):
    """Return the fitting item with the best value per weight; once space is short, value counts for more."""
    feasible = np.flatnonzero(weights <= remaining_capacity + 1e-12)
    ratios = values[feasible] / np.maximum(weights[feasible], 1e-12)
    if remaining_capacity > 1.0:
        return feasible[np.argmax(ratios)]
    return feasible[np.argmax(values[feasible] + 0.1 * ratios)]
