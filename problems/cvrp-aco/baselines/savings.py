"""Savings (Clarke and Wright 1964): two customers belong together if one trip to both saves much over two trips."""

import numpy as np


def heuristics(distance_matrix, coordinates, demands, capacity):
    """Return what each edge saves over a detour by the depot, times its closeness."""
    home = distance_matrix[0]
    savings = home[:, None] + home[None, :] - distance_matrix
    closeness = distance_matrix.mean() / (distance_matrix + 1e-9)
    return np.maximum(savings, 1e-9) * closeness**3
