"""Capacitated vehicle routing by construction: a heuristic chooses the next customer, or the way home, again and again.

Instances follow the law of Agentic-ESOpt's routing data (customers and depot in the unit square, demands 1 to 9,
capacity 50), but are drawn from a stream of their own, so that they share nothing with those of cvrp-aco. The
step-by-step protocol is this project's: that reference has routing only for ant colonies.
"""

from bisect import bisect_left
from collections.abc import Callable
from pathlib import Path

import numpy as np

from coevo.interfaces import Heuristic, Instance, Solution
from coevo.problemkit.returned import whole_number
from coevo.problemkit.route_drawing import draw_routes
from coevo.problemkit.routes import check_routes, drawn_instance, join_routes, routes_length
from coevo.problemkit.solvers import pyvrp_routes
from coevo.problemkit.splits import check_split, draw_split, split_names

from .files import read, read_reference
from .savings import savings

__all__ = [
    "classics", "draw", "instances", "objective", "read", "read_reference", "reference", "solve", "solvers",
]  # fmt: skip

SEED = 4321
"""Of the stream from which all splits are drawn, one after the other."""

STREAM = (("search", 64, 50), ("val", 64, 50), ("test20", 64, 20), ("test50", 64, 50), ("test100", 64, 100))
"""Order of the stream: (split, instances, customers)."""

CAPACITY = 50

PYVRP_SEED = 1
PYVRP_SECONDS = 60.0
"""Longest search of the solver; instances of 100 customers end long before."""

ID_BYTES = 8
"""Bytes of one node id (int64) in the buffer behind `unvisited_nodes`."""


def instances(split: str) -> list[Instance]:
    """The instances of a split: `coordinates` (n + 1, 2), `distance_matrix`, `demands` (n + 1,) and `capacity`.

    Node 0 is the depot, in the middle of the unit square and with demand 0. For each instance in turn the stream gives
    the customers' coordinates, uniform in the square, and then their demands, uniform over 1 to 9. An instance's seed
    is its place in the stream, so no two instances of any split share one.

    Raises:
        ConfigError: If there is no such split.
    """
    check_split("cvrp", split, split_names(STREAM))
    stream = np.random.RandomState(SEED)

    def draw_customers(count: int, customers: int) -> list[tuple[np.ndarray, np.ndarray]]:
        return [(stream.random_sample((customers, 2)), stream.randint(1, 10, customers)) for _ in range(count)]

    first, drawn = draw_split(STREAM, split, draw_customers)
    return [drawn_instance(f"{split}-{i}", first + i, *each, CAPACITY) for i, each in enumerate(drawn)]


def solve(heuristic: Heuristic, instance: Instance) -> Solution:
    """Let the heuristic build routes, one vehicle after the other.

    It is offered the customers that are left and still fit. It may return the depot instead, which ends the route, but
    not right after leaving it. Where no customer fits, the vehicle goes home without a call; the last customer of all
    is served without a call. A node that was not offered ends the construction at once and stays in the solution, so
    that `objective` can say what is wrong. Integers, NumPy integers and integer arrays of size 1 are node ids.

    Returns:
        Node ids in the order of the visits, int64, with the depot 0 at both ends and between routes.

    Raises:
        TypeError: If the heuristic returns something that is not an integer.
    """
    matrix, demands = _read_only(instance.data["distance_matrix"]), _read_only(instance.data["demands"])
    capacity = rest = int(instance.data["capacity"])
    loads, largest = demands.tolist(), int(demands.max())
    visits, unserved = [0], list(range(1, len(loads)))
    # Bytes are cut faster than an array is masked, and an array over bytes can never be made writeable.
    ids = np.array(unserved, dtype=np.int64).tobytes()
    while len(unserved) > 1:
        fitting = np.frombuffer(ids, dtype=np.int64)
        if rest < largest:
            fitting = _read_only(fitting[demands[fitting] <= rest])
        node = 0
        if fitting.size:
            chosen = heuristic(visits[-1], 0, fitting, matrix, demands, rest)
            node = whole_number(chosen, "select_next_node", "node id")
        elif visits[-1] == 0:
            # A demand above the capacity: no vehicle can ever serve what is left.
            return np.array(visits, dtype=np.int64)
        visits.append(node)
        if node == 0 and visits[-2] != 0:
            rest = capacity
            continue
        place = bisect_left(unserved, node)
        if place == len(unserved) or unserved[place] != node or loads[node] > rest:
            return np.array(visits, dtype=np.int64)
        rest -= loads[node]
        del unserved[place]
        ids = ids[: place * ID_BYTES] + ids[(place + 1) * ID_BYTES :]
    for node in unserved:
        if loads[node] <= capacity:
            visits += [node] if loads[node] <= rest else [0, node]
    return np.array(visits if visits[-1] == 0 else [*visits, 0], dtype=np.int64)


def objective(instance: Instance, solution: Solution) -> float:
    """Total length of all routes, minimised. Raises `Infeasible`."""
    data = instance.data
    return routes_length(data["distance_matrix"], check_routes(solution, data["demands"], data["capacity"]))


def reference(split: str) -> np.ndarray:
    """Shortest known total length for each instance, float64, in instance order; see `optima/README.md`."""
    check_split("cvrp", split, split_names(STREAM))
    return np.load(Path(__file__).parent / "optima" / f"{split}.npy")


def classics() -> dict[str, Callable[[Instance], Solution]]:
    """Textbook constructions that do not fit the step-by-step interface: {name: function(instance) -> solution}."""
    return {"savings": _savings}


def solvers() -> dict[str, Callable[[Instance], Solution]]:
    """Reference solvers: {name: function(instance) -> solution}."""
    return {"pyvrp": _pyvrp}


def draw(instance: Instance, solution: Solution) -> str:
    """The routes as SVG text, each a closed line with dashes of its own; a square marks the depot.

    Raises:
        Infeasible: If the solution is none.
        ContentError: If the instance has no coordinates.
    """
    visits = check_routes(solution, instance.data["demands"], instance.data["capacity"])
    return draw_routes(instance, visits, routes_length(instance.data["distance_matrix"], visits))


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


def _savings(instance: Instance) -> Solution:
    data = instance.data
    return join_routes(savings(data["distance_matrix"], data["demands"], data["capacity"]))


def _pyvrp(instance: Instance) -> Solution:
    data = instance.data
    return join_routes(
        pyvrp_routes(data["distance_matrix"], data["demands"], data["capacity"], seed=PYVRP_SEED, seconds=PYVRP_SECONDS)
    )
