"""The savings construction of Clarke and Wright (1964), in its parallel form."""

import numpy as np


def savings(distances: np.ndarray, demands: np.ndarray, capacity: float) -> list[list[int]]:
    """Begin with a route for each customer and join routes at their ends, the largest saving first.

    Joining the end i of one route to the end j of another saves d(i, 0) + d(0, j) − d(i, j); it is done where something
    is saved and one vehicle can carry both. Of equal savings that with the lower ids comes first.

    Args:
        distances: Symmetric, shape (n, n); node 0 is the depot.
        demands: Shape (n,); that of the depot is not read.
        capacity: Of each vehicle, in the unit of the demands.

    Returns:
        The customers of each route in the order of the visits.
    """
    size = len(distances)
    first, second = np.triu_indices(size, 1)
    first, second = first[first > 0], second[first > 0]
    saved = distances[first, 0] + distances[0, second] - distances[first, second]
    routes = {node: [node] for node in range(1, size)}
    loads = {node: demands[node] for node in range(1, size)}
    # The route of each customer, by the customer it began with.
    home = list(range(size))
    for place in np.argsort(-saved, kind="stable"):
        if saved[place] <= 0:
            break
        i, j = int(first[place]), int(second[place])
        a, b = home[i], home[j]
        if a == b or loads[a] + loads[b] > capacity:
            continue
        joined = _join(routes[a], i, routes[b], j)
        if joined:
            routes[a], loads[a] = joined, loads[a] + loads[b]
            for node in routes.pop(b):
                home[node] = a
    return list(routes.values())


def _join(left: list[int], i: int, right: list[int], j: int) -> list[int]:
    """Both routes in one, where i meets j; empty if one of them is no end of its route."""
    if i not in (left[0], left[-1]) or j not in (right[0], right[-1]):
        return []
    left = left if left[-1] == i else left[::-1]
    return left + (right if right[0] == j else right[::-1])
