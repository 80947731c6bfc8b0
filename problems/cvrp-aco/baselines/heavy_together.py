"""Closeness that prefers heavy customers: what is hard to fit in later is served while there is room."""

import numpy as np


def heuristics(distance_matrix, coordinates, demands, capacity):
    """Return a steep closeness times the share of a vehicle that the two ends of each edge fill."""
    loads = (demands[:, None] + demands[None, :]) / capacity
    closeness = distance_matrix.mean() / (distance_matrix + 1e-9)
    return np.where(loads <= 1, loads, 0) * closeness**3
