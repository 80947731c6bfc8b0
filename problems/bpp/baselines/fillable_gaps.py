"""Large items first, and rather where another item fills the gap that a pair leaves."""

import numpy as np


def heuristics(demands, capacity):
    """Return, for pairs that fit, the size of the second item, more for a small or fillable gap; else almost 0."""
    gaps = capacity - demands[:, None] - demands[None, :]
    fillable = np.isin(gaps, demands)
    preferences = (demands[None, :] / capacity) ** 2 + 0.2 * np.exp(-np.abs(gaps) / 30) + 0.05 * fillable
    return np.where(gaps >= 0, preferences, 0.001)
