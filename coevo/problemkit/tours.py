"""Closed tours over numbered nodes: Euclidean distances, the permutation check, the length."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.errors import Infeasible

FloatArray = NDArray[np.float64]


def distance_matrix(points: FloatArray) -> FloatArray:
    """Euclidean distances between all pairs of points.

    Args:
        points: Coordinates, shape (n, k).

    Returns:
        Shape (n, n), float64, exactly symmetric with a zero diagonal.
    """
    return np.asarray(np.linalg.norm(points[:, None, :] - points[None, :, :], axis=-1), dtype=np.float64)


def check_tour(tour: NDArray[Any], num_nodes: int) -> NDArray[np.int64]:
    """The tour as int64, once it is known to visit each of the nodes 0 … num_nodes − 1 exactly once.

    Accepts whatever came out of the sandbox, so any array is answered by a result or by `Infeasible`.

    Args:
        tour: Node ids in the order of the visits; the way back to the first is implied.
        num_nodes: How many nodes the instance has.

    Raises:
        Infeasible: Naming the first constraint that is broken, in the order shape, type, range, repetition, number.
    """
    tour = np.asarray(tour)
    if tour.ndim != 1:
        raise Infeasible(f"expected a tour as a 1-D array of node ids, got shape {tour.shape}")
    if tour.dtype.kind not in "iu":
        raise Infeasible(f"expected a tour of integer node ids, got {tour.dtype}")
    outside = np.flatnonzero((tour < 0) | (tour >= num_nodes))
    if outside.size:
        place = outside[0]
        raise Infeasible(f"node {tour[place]} at position {place} is not one of 0 to {num_nodes - 1}")
    nodes = tour.astype(np.int64)
    if nodes.size != num_nodes or np.any(np.bincount(nodes, minlength=num_nodes) != 1):
        raise Infeasible(_repetition_or_gap(nodes, num_nodes))
    return nodes


def tour_length(distances: NDArray[Any], tour: NDArray[np.int64]) -> float:
    """Length of a closed tour, in the unit of `distances`.

    Args:
        distances: Shape (n, n); `distances[a, b]` is the way from a to b.
        tour: A permutation of the nodes, checked before.
    """
    return float(distances[tour[:-1], tour[1:]].sum() + distances[tour[-1], tour[0]])


def _repetition_or_gap(nodes: NDArray[np.int64], num_nodes: int) -> str:
    """Message for a tour that is no permutation: the first node that comes back, else one that is missing."""
    first_visit: dict[int, int] = {}
    for place, node in enumerate(nodes.tolist()):
        if node in first_visit:
            return f"node {node} is visited twice, at positions {first_visit[node]} and {place}"
        first_visit[node] = place
    missing = next(node for node in range(num_nodes) if node not in first_visit)
    return f"tour visits {len(first_visit)} of {num_nodes} nodes; node {missing} is missing"
