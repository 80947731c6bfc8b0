"""Nearest neighbour that serves what is far from the depot, or heavy, while it passes by and has room."""

import numpy as np


def select_next_node(current_node, depot, unvisited_nodes, distance_matrix, demands, rest_capacity):
    """Return the customer with the smallest step, discounted by its distance to the depot and its share of the room."""
    steps = distance_matrix[current_node, unvisited_nodes]
    homeward = distance_matrix[depot, unvisited_nodes]
    share = demands[unvisited_nodes] / rest_capacity
    return unvisited_nodes[np.argmin(steps - 0.4 * homeward - 0.1 * share)]
