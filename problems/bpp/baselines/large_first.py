"""The larger an item, the sooner: small ones still fit later."""

import numpy as np


def heuristics(demands, capacity):
    """Return a matrix in which every item prefers the largest others."""
    return np.tile(demands / capacity, (len(demands), 1))
