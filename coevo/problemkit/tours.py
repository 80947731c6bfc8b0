"""Closed tours over numbered nodes: Euclidean distances, the permutation check, the length."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.errors import Infeasible
from coevo.interfaces import Instance

FloatArray = NDArray[np.float64]


def distance_matrix(points: FloatArray) -> FloatArray:
    """Euclidean distances between all pairs of points.

    Args:
        points: Coordinates, shape (n, k).

    Returns:
        Shape (n, n), float64, exactly symmetric with a zero diagonal.
    """
    return np.asarray(np.linalg.norm(points[:, None, :] - points[None, :, :], axis=-1), dtype=np.float64)


def euclidean_instance(name: str, seed: int, points: FloatArray) -> Instance:
    """An instance with `coordinates` (n, 2), the points themselves, and their `distance_matrix` (n, n), read-only."""
    data = {"coordinates": points, "distance_matrix": distance_matrix(points)}
    for array in data.values():
        array.flags.writeable = False
    return Instance(name, seed, data)


def check_tour(tour: NDArray[Any], num_nodes: int) -> NDArray[np.int64]:
    """The tour as int64, once it is known to visit each of the nodes 0 … num_nodes − 1 exactly once.

    Accepts whatever came out of the sandbox, so any array is answered by a result or by `Infeasible`.

    Args:
        tour: Node ids in the order of the visits; the way back to the first is implied.
        num_nodes: How many nodes the instance has.

    Raises:
        Infeasible: Naming the first constraint that is broken, in the order shape, type, range, repetition, number.
    """
    nodes = check_node_ids(tour, num_nodes, "a tour")
    if nodes.size != num_nodes or np.any(np.bincount(nodes, minlength=num_nodes) != 1):
        raise Infeasible(_repetition_or_gap(nodes, num_nodes))
    return nodes


def check_node_ids(ids: NDArray[Any], num_nodes: int, what: str) -> NDArray[np.int64]:
    """Any array as int64, once it is known to be 1-D and to hold nothing but ids of nodes, 0 … num_nodes − 1.

    Args:
        ids: What came out of the sandbox.
        num_nodes: How many nodes the instance has.
        what: What it should be, such as "a tour", for the message.

    Raises:
        Infeasible: Naming the first constraint that is broken, in the order shape, type, range.
    """
    ids = np.asarray(ids)
    if ids.ndim != 1:
        raise Infeasible(f"expected {what} as a 1-D array of node ids, got shape {ids.shape}")
    if ids.dtype.kind not in "iu":
        raise Infeasible(f"expected {what} of integer node ids, got {ids.dtype}")
    outside = np.flatnonzero((ids < 0) | (ids >= num_nodes))
    if outside.size:
        place = outside[0]
        raise Infeasible(f"node {ids[place]} at position {place} is not one of 0 to {num_nodes - 1}")
    return ids.astype(np.int64)


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
