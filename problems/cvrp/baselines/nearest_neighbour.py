"""Nearest neighbour: always serve the closest customer that fits."""


def select_next_node(current_node, depot, unvisited_nodes, distance_matrix, demands, rest_capacity):
    """Return the customer closest to the current node."""
    return unvisited_nodes[distance_matrix[current_node, unvisited_nodes].argmin()]
