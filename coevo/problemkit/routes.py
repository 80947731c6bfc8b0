"""Routes of several vehicles from one depot: one flat array, its check, its length."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.errors import Infeasible
from coevo.interfaces import Instance
from coevo.problemkit.tours import check_node_ids, euclidean_instance

DEPOT = (0.5, 0.5)
"""Where drawn instances have their depot: in the middle of the unit square."""


def drawn_instance(
    name: str, seed: int, customers: NDArray[np.float64], demands: NDArray[Any], capacity: int
) -> Instance:
    """An instance of which the customers are drawn and node 0 is the depot, with demand 0.

    Args:
        name: Of the instance.
        seed: Of the instance.
        customers: Coordinates, shape (n, 2).
        demands: Of the customers, shape (n,), integers.
        capacity: Of each vehicle.

    Returns:
        With `coordinates` (n + 1, 2), `distance_matrix` (n + 1, n + 1), `demands` (n + 1,) int64 and `capacity`; arrays
        are read-only.
    """
    plain = euclidean_instance(name, seed, np.vstack([DEPOT, customers]))
    loads = np.concatenate([[0], demands]).astype(np.int64)
    loads.flags.writeable = False
    return Instance(name, seed, {**plain.data, "demands": loads, "capacity": capacity})


def check_routes(solution: NDArray[Any], demands: NDArray[Any], capacity: float) -> NDArray[np.int64]:
    """The routes as int64, once they are known to serve every customer exactly once within the capacity.

    Accepts whatever came out of the sandbox, so any array is answered by a result or by `Infeasible`.

    Args:
        solution: Node ids in the order of the visits, all vehicles one after the other, 1-D. Node 0 is the depot, where
            each route begins and ends: `0 3 5 0 2 0` are two routes. With no customers it is `0`.
        demands: Shape (n,); that of the depot is not read. Loads are exact for integers.
        capacity: Of each vehicle, in the unit of the demands.

    Raises:
        Infeasible: Naming the first constraint that is broken, in the order shape, type, range, repetition, load, empty
            route, beginning and end, number.
    """
    size = len(demands)
    nodes = check_node_ids(solution, size, "routes")
    _check_visits(nodes, size)
    _check_loads(nodes, np.asarray(demands), capacity)
    _check_depot(nodes)
    visits = np.bincount(nodes, minlength=size)
    visits[0] = 1
    if not visits.all():
        message = f"routes serve {visits.sum() - 1} of {size - 1} customers; customer {visits.argmin()} is missing"
        raise Infeasible(message)
    return nodes


def routes_length(distances: NDArray[Any], solution: NDArray[np.int64]) -> float:
    """Total length of all routes, in the unit of `distances`.

    Args:
        distances: Shape (n, n); `distances[a, b]` is the way from a to b.
        solution: Routes, checked before.
    """
    return float(distances[solution[:-1], solution[1:]].sum())


def split_routes(solution: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The customers of each route in the order of the visits, without the depot; of routes that were checked."""
    stops = np.flatnonzero(solution == 0)
    return [solution[start + 1 : end] for start, end in pairwise(stops)]


def join_routes(routes: Iterable[Sequence[int]]) -> NDArray[np.int64]:
    """The flat array of routes that are given as customers each; empty ones are left out."""
    return np.array([0, *(node for route in routes if route for node in (*route, 0))], dtype=np.int64)


def _check_visits(nodes: NDArray[np.int64], size: int) -> None:
    if np.any(np.bincount(nodes, minlength=size)[1:] > 1):
        first_visit: dict[int, int] = {}
        for place, node in enumerate(nodes.tolist()):
            if node in first_visit:
                raise Infeasible(f"customer {node} is served twice, at positions {first_visit[node]} and {place}")
            if node:
                first_visit[node] = place


def _check_loads(nodes: NDArray[np.int64], demands: NDArray[Any], capacity: float) -> None:
    """Also a route that does not end is weighed: it may end because a customer did not fit."""
    route = np.cumsum(nodes == 0)
    loads = np.zeros(len(nodes) + 1, dtype=demands.dtype)
    np.add.at(loads, route[nodes > 0], demands[nodes[nodes > 0]])
    if np.any(loads > capacity):
        worst = int(np.argmax(loads > capacity))
        raise Infeasible(f"route {worst} carries {loads[worst]}, more than the capacity {capacity}")


def _check_depot(nodes: NDArray[np.int64]) -> None:
    empty = np.flatnonzero((nodes[:-1] == 0) & (nodes[1:] == 0))
    if empty.size:
        raise Infeasible(f"route at positions {empty[0]} and {empty[0] + 1} leaves the depot and serves nobody")
    if nodes.size == 0 or nodes[0] != 0 or nodes[-1] != 0:
        got = f"{nodes[0]} … {nodes[-1]}" if nodes.size else "nothing"
        raise Infeasible(f"expected routes that begin and end at the depot 0, got {got}")
