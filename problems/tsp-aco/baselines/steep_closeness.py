"""Closeness with a steep fall: long edges are all but ruled out from the start, in whatever unit they are measured."""


def heuristics(distance_matrix):
    """Return the cube of how many times shorter than the mean each edge is."""
    return (distance_matrix.mean() / (distance_matrix + 1e-9)) ** 3
