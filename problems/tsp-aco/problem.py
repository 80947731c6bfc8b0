"""Travelling salesman by an ant colony: a heuristic says once how promising every edge is, then the ants walk.

Instances are those of Agentic-ESOpt's TSP-ACO, drawn from one stream of NumPy's legacy generator; `STREAM` is its
order. There, test20 is drawn from the same place of the stream as test50 and so has its points; here it follows
test100, and no two splits share a point. The colony is that of `coevo.problemkit.colony`, which says what differs.

The heuristic runs in the sandbox and its matrix is the solution; the colony is part of the objective, outside it, with
the instance's own seed. A candidate could run a colony of its own to find a lucky matrix, within its CPU limit; as well
it could solve the instance by any other means and return the solution as a matrix, which is all the same to us.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from coevo.interfaces import Heuristic, Instance, Solution
from coevo.problemkit import colony
from coevo.problemkit.route_drawing import draw_tour
from coevo.problemkit.splits import check_split, draw_split, split_names
from coevo.problemkit.tours import euclidean_instance

from .files import read, read_reference, tsp

__all__ = ["draw", "instances", "objective", "read", "read_reference", "reference", "solve", "solvers"]

SEED = 1234

STREAM = (
    ("search", 5, 50),
    (None, 64, 20),
    ("val", 64, 50),
    (None, 64, 100),
    ("test50", 64, 50),
    ("test100", 64, 100),
    ("test20", 64, 20),
)
"""Order of the stream: (split, instances, nodes); None for instances of the published stream that no split uses."""


def instances(split: str) -> list[Instance]:
    """The instances of a split, with `coordinates` (n, 2) in the unit square and their `distance_matrix` (n, n).

    An instance's seed is its place in the stream, so no two instances of any split share one.

    Raises:
        ConfigError: If there is no such split.
    """
    check_split("tsp-aco", split, split_names(STREAM))
    stream = np.random.RandomState(SEED)
    first, points = draw_split(STREAM, split, lambda count, nodes: stream.random_sample((count, nodes, 2)))
    return [euclidean_instance(f"{split}-{i}", first + i, each) for i, each in enumerate(points)]


def solve(heuristic: Heuristic, instance: Instance) -> Solution:
    """The heuristic's matrix, float64, of whatever shape; it gets the distances with 1 on the diagonal, read-only.

    Raises:
        TypeError: If the heuristic returns something that is no array of numbers.
    """
    return colony.to_matrix(heuristic(colony.unit_diagonal(instance.data["distance_matrix"])))


def objective(instance: Instance, solution: Solution) -> float:
    """Length of the shortest tour that a colony guided by the matrix finds, minimised. Raises `Infeasible`."""
    return _found(instance, solution).cost


def reference(split: str) -> np.ndarray:
    """Length of a shortest tour of each instance, float64, in instance order; `optima/README.md` says how proven."""
    check_split("tsp-aco", split, split_names(STREAM))
    return np.load(Path(__file__).parent / "optima" / f"{split}.npy")


def solvers() -> dict[str, Callable[[Instance], Solution]]:
    """Those of the problem tsp: {name: function(instance) -> a matrix that leads every ant along its tour}."""
    return {name: colony.leading(solver) for name, solver in tsp().solvers().items()}


def draw(instance: Instance, solution: Solution) -> str:
    """The colony's shortest tour as SVG text; a square marks its first node.

    Raises:
        Infeasible: If the matrix is refused.
        ContentError: If the instance has no coordinates.
    """
    found = _found(instance, solution)
    return draw_tour(instance, found.path, found.cost)


def _found(instance: Instance, solution: Solution) -> colony.Found:
    distances = instance.data["distance_matrix"]
    return colony.shortest_tour(distances, colony.check_weights(solution, len(distances)), instance.seed)
