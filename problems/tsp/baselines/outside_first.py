"""Nearest neighbour that fetches far nodes early, so that the way home does not have to."""


def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Return the node with the smallest step, discounted by how far from the destination it lies."""
    best_node = None
    best_score = float("inf")
    for node in unvisited_nodes:
        score = distance_matrix[current_node, node] - 0.3 * distance_matrix[node, destination_node]
        if score < best_score:
            best_node, best_score = node, score
    return best_node
