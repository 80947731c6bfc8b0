"""Nearest neighbour: always go to the closest unvisited node."""


def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Return the unvisited node closest to the current one."""
    return unvisited_nodes[distance_matrix[current_node, unvisited_nodes].argmin()]
