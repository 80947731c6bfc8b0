"""Farthest insertion (Rosenkrantz, Stearns and Lewis 1977): the strongest of the plain insertion rules."""

import numpy as np


def farthest_insertion(distances: np.ndarray) -> np.ndarray:
    """Build a tour by inserting, each time, the node farthest from the tour where it lengthens it least.

    The tour starts as the two nodes farthest apart; ties go to the lower id, and to the earlier place in the tour.

    Args:
        distances: Symmetric, shape (n, n), float64.

    Returns:
        Node ids in the order of the visits, int64, shape (n,), starting at one of the two.
    """
    size = len(distances)
    if size < 2:
        return np.arange(size)
    first, second = divmod(int(np.argmax(distances)), size)
    if first == second:
        # All nodes are in one place.
        second = 1
    # The closed tour, its first node repeated at the end; `steps` are the lengths of its edges.
    tour = np.array([first, second, first] + [0] * (size - 2))
    steps = np.zeros(size)
    steps[:2] = distances[first, second]
    to_tour = np.minimum(distances[first], distances[second])
    to_tour[[first, second]] = -1.0
    for length in range(2, size):
        node = int(to_tour.argmax())
        row = distances[node]
        spokes = row[tour[: length + 1]]
        place = int((spokes[:-1] + spokes[1:] - steps[:length]).argmin()) + 1
        tour[place + 1 : length + 2] = tour[place : length + 1]
        steps[place + 1 : length + 1] = steps[place:length]
        tour[place] = node
        steps[place - 1 : place + 1] = spokes[place - 1 : place + 1]
        np.minimum(to_tour, row, out=to_tour)
        # The minimum keeps the −1 of the nodes in the tour, and the new node joins them.
        to_tour[node] = -1.0
    return tour[:size]
