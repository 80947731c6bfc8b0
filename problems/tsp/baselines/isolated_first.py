"""Nearest neighbour that prefers nodes far from the rest: nobody else will pass by there later."""

import numpy as np


def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Return the node with the smallest step, discounted by its mean distance to the other unvisited nodes."""
    steps = distance_matrix[current_node, unvisited_nodes]
    isolation = distance_matrix[np.ix_(unvisited_nodes, unvisited_nodes)].mean(axis=0)
    return unvisited_nodes[np.argmin(steps - 0.25 * isolation)]
