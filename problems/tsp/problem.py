"""Travelling salesman by construction: a heuristic chooses the next node, again and again, until the tour closes.

Instances are those of Agentic-ESOpt's constructive TSP, drawn from one stream of NumPy's legacy generator; `STREAM` is
its order. Where that evaluator offered the unvisited nodes sorted by distance, and only the 50 nearest of them, here
the heuristic gets all of them, ascending by id, on every split; and a node id that is negative, out of range or not an
integer is refused on every split alike.
"""

from bisect import bisect_left
from collections.abc import Callable
from pathlib import Path

import numpy as np

from coevo.interfaces import Heuristic, Instance, Solution
from coevo.problemkit.returned import whole_number
from coevo.problemkit.route_drawing import draw_tour
from coevo.problemkit.solvers import lkh_tour, ortools_tour
from coevo.problemkit.splits import check_split, draw_split, split_names
from coevo.problemkit.tours import check_tour, euclidean_instance, tour_length

from .files import read, read_reference
from .insertion import farthest_insertion

__all__ = [
    "classics", "draw", "instances", "objective", "read", "read_reference", "reference", "solve", "solvers",
]  # fmt: skip

SEED = 1234

STREAM = (
    ("search", 64, 50),
    (None, 64, 20),
    ("val", 64, 50),
    (None, 64, 100),
    (None, 64, 200),
    ("test20", 1000, 20),
    ("test50", 1000, 50),
    ("test100", 1000, 100),
)
"""Order of the stream: (split, instances, nodes); None for instances of the published stream that no split uses."""

ID_BYTES = 8
"""Bytes of one node id (int64) in the buffer behind `unvisited_nodes`."""

ORTOOLS_SECONDS = 1.0
ORTOOLS_SECONDS_PER_NODE = 0.04
"""Wall time of the solver ortools: 3 s for 50 nodes."""


def instances(split: str) -> list[Instance]:
    """The instances of a split, with `coordinates` (n, 2) in the unit square and their `distance_matrix` (n, n).

    An instance's seed is its place in the stream, so no two instances of any split share one.

    Raises:
        ConfigError: If there is no such split.
    """
    check_split("tsp", split, split_names(STREAM))
    stream = np.random.RandomState(SEED)
    first, points = draw_split(STREAM, split, lambda count, nodes: stream.random_sample((count, nodes, 2)))
    return [euclidean_instance(f"{split}-{i}", first + i, each) for i, each in enumerate(points)]


def solve(heuristic: Heuristic, instance: Instance) -> Solution:
    """Let the heuristic build a tour from node 0; the last node is added without a call.

    A node that cannot be visited ends the tour at once and stays in it, so that `objective` can say what is wrong.
    Integers, NumPy integers and integer arrays of size 1 are node ids. A float is not, even if whole: the published
    evaluator refuses it too.

    Returns:
        Node ids in the order of the visits, int64, shape (n,) if every choice could be visited.

    Raises:
        TypeError: If the heuristic returns something that is not an integer.
    """
    matrix = instance.data["distance_matrix"].view()
    matrix.flags.writeable = False
    tour, unvisited = [0], list(range(1, len(matrix)))
    # Bytes are cut faster than an array is masked, and an array over bytes can never be made writeable.
    ids = np.array(unvisited, dtype=np.int64).tobytes()
    while len(unvisited) > 1:
        chosen = heuristic(tour[-1], 0, np.frombuffer(ids, dtype=np.int64), matrix)
        node = whole_number(chosen, "select_next_node", "node id")
        tour.append(node)
        place = bisect_left(unvisited, node)
        if place == len(unvisited) or unvisited[place] != node:
            return np.array(tour, dtype=np.int64)
        del unvisited[place]
        ids = ids[: place * ID_BYTES] + ids[(place + 1) * ID_BYTES :]
    return np.array(tour + unvisited, dtype=np.int64)


def objective(instance: Instance, solution: Solution) -> float:
    """Length of the closed tour, minimised; the start is irrelevant. Raises `Infeasible`."""
    matrix = instance.data["distance_matrix"]
    return tour_length(matrix, check_tour(solution, len(matrix)))


def reference(split: str) -> np.ndarray:
    """Length of a shortest tour of each instance, float64, in instance order; `optima/README.md` says how proven."""
    check_split("tsp", split, split_names(STREAM))
    return np.load(Path(__file__).parent / "optima" / f"{split}.npy")


def classics() -> dict[str, Callable[[Instance], Solution]]:
    """Textbook constructions that do not fit the step-by-step interface: {name: function(instance) -> solution}."""
    return {"farthest insertion": lambda instance: farthest_insertion(instance.data["distance_matrix"])}


def solvers() -> dict[str, Callable[[Instance], Solution]]:
    """Reference solvers: {name: function(instance) -> solution}."""
    return {"lkh": lambda instance: lkh_tour(instance.data["distance_matrix"]), "ortools": _ortools}


def draw(instance: Instance, solution: Solution) -> str:
    """The tour as SVG text; a square marks the first node.

    Raises:
        Infeasible: If the solution is no tour.
        ContentError: If the instance has no coordinates.
    """
    tour = check_tour(solution, len(instance.data["distance_matrix"]))
    return draw_tour(instance, tour, objective(instance, tour))


def _ortools(instance: Instance) -> Solution:
    distances = instance.data["distance_matrix"]
    return ortools_tour(distances, seconds=ORTOOLS_SECONDS + ORTOOLS_SECONDS_PER_NODE * len(distances))
