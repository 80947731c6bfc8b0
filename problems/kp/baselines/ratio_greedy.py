"""Greedy by value per weight: the item that pays most for its weight, of those that fit."""

import numpy as np


def select_next_item(remaining_capacity, weights, values):
    """Return the index of the fitting item with the largest value per weight."""
    ratios = values / np.maximum(weights, 1e-12)
    return np.argmax(np.where(weights <= remaining_capacity + 1e-12, ratios, -1.0))
