"""Closeness: the shorter an edge, the better, as in the first ant systems."""


def heuristics(distance_matrix):
    """Return the inverse of each distance."""
    return 1 / (distance_matrix + 1e-9)
