"""Large items first, but rather beside others of their size."""

import numpy as np


def heuristics(demands, capacity):
    """Return how large the second item of a pair is, less something for the difference in size."""
    n = len(demands)
    preferences = np.zeros((n, n))
    for i in range(n):
        difference = np.abs(demands - demands[i]) / capacity
        preferences[i] = (demands / capacity) ** 2 - 0.2 * difference
    return np.maximum(preferences, 0.001)
