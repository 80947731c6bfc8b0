"""Nearest neighbour."""

import numpy as np


def select_next_node(current, unvisited, distances):
    """The closest node that is left."""
    return unvisited[np.argmin(distances[current][unvisited])]
