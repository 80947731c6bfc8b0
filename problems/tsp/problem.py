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

from coevo.errors import ConfigError, ContentError
from coevo.interfaces import Heuristic, Instance, Solution
from coevo.problemkit import svg
from coevo.problemkit.solvers import lkh_tour, ortools_tour
from coevo.problemkit.tours import check_tour, distance_matrix, tour_length

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
    first, points = coordinates(split)
    return [_instance(f"{split}-{i}", first + i, each) for i, each in enumerate(points)]


def coordinates(split: str) -> tuple[int, np.ndarray]:
    """Place of a split's first instance in the stream, and the points of all of them, shape (instances, nodes, 2)."""
    stream = np.random.RandomState(SEED)
    place = 0
    for name, count, nodes in STREAM:
        points = stream.random_sample((count, nodes, 2))
        if name == split:
            return place, points
        place += count
    known = ", ".join(name for name, _, _ in STREAM if name)
    raise ConfigError(f"expected a split of the problem tsp ({known}), got {split!r}")


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
        node = _as_node(heuristic(tour[-1], 0, np.frombuffer(ids, dtype=np.int64), matrix))
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
    coordinates(split)
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
    if "coordinates" not in instance.data:
        raise ContentError(f"expected coordinates to draw {instance.name}, its file has none")
    points = svg.fit(instance.data["coordinates"], size=400, margin=16)
    elements = [svg.polygon(points[tour]), *(svg.dot(x, y) for x, y in points), svg.square(*points[tour[0]])]
    title = f"{instance.name}: {len(tour)} nodes, length {objective(instance, tour):.4f}"
    return svg.document(elements, width=400, height=400, title=title)


def _instance(name: str, seed: int, points: np.ndarray) -> Instance:
    data = {"coordinates": points, "distance_matrix": distance_matrix(points)}
    for array in data.values():
        array.flags.writeable = False
    return Instance(name, seed, data)


def _ortools(instance: Instance) -> Solution:
    distances = instance.data["distance_matrix"]
    return ortools_tour(distances, seconds=ORTOOLS_SECONDS + ORTOOLS_SECONDS_PER_NODE * len(distances))


def _as_node(value: object) -> int:
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    # A tuple: to build the union of both types would cost more, at every step, than the test itself.
    if isinstance(value, (np.integer, int)) and not isinstance(value, bool):
        return int(value)
    raise TypeError(f"expected select_next_node to return an integer node id, got {type(value).__name__} {value!r:.40}")
