"""Capacitated vehicle routing by an ant colony: a heuristic says once how promising every edge is, then the ants walk.

Instances are those of Agentic-ESOpt's CVRP-ACO, drawn from one stream of NumPy's legacy generator; `STREAM` is its
order. There, test20 is drawn from the same place of the stream as test50; here it follows test100, and no two splits
share a point. The colony is that of `coevo.problemkit.colony`, which says what differs. The distances are of length
zero from a node to itself; the 1 that a heuristic sees there is for its divisions alone.

The heuristic runs in the sandbox and its matrix is the solution; the colony is part of the objective, outside it, with
the instance's own seed. A candidate could run a colony of its own to find a lucky matrix, within its CPU limit; as well
it could solve the instance by any other means and return the solution as a matrix, which is all the same to us.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from coevo.interfaces import Heuristic, Instance, Solution
from coevo.problemkit import colony
from coevo.problemkit.route_drawing import draw_routes
from coevo.problemkit.routes import drawn_instance
from coevo.problemkit.splits import check_split, draw_split, split_names

from .files import cvrp, read, read_reference

__all__ = ["draw", "instances", "objective", "read", "read_reference", "reference", "solve", "solvers"]

SEED = 1234
CAPACITY = 50
DEMANDS = (1, 10)
"""Smallest demand, and the one above the largest."""

STREAM = (
    ("search", 10, 50),
    (None, 64, 20),
    ("val", 64, 50),
    (None, 64, 100),
    ("test50", 64, 50),
    ("test100", 64, 100),
    ("test20", 64, 20),
)
"""Order of the stream: (split, instances, customers); None for instances of the published stream that no split uses."""


def instances(split: str) -> list[Instance]:
    """The instances of a split; node 0 is the depot, in the middle of the unit square.

    Data: `coordinates` (n + 1, 2), their `distance_matrix` (n + 1, n + 1), `demands` (n + 1,) int64, `capacity`. An
    instance's seed is its place in the stream, so no two instances of any split share one.

    Raises:
        ConfigError: If there is no such split.
    """
    check_split("cvrp-aco", split, split_names(STREAM))
    stream = np.random.RandomState(SEED)

    def draw_customers(count: int, customers: int) -> list[tuple[np.ndarray, np.ndarray]]:
        return [(stream.random_sample((customers, 2)), stream.randint(*DEMANDS, customers)) for _ in range(count)]

    first, drawn = draw_split(STREAM, split, draw_customers)
    return [drawn_instance(f"{split}-{i}", first + i, *each, CAPACITY) for i, each in enumerate(drawn)]


def solve(heuristic: Heuristic, instance: Instance) -> Solution:
    """The heuristic's matrix, float64, of whatever shape.

    It gets read-only arrays: the distances with 1 on the diagonal, the coordinates, the demands as float64 (so that
    any power of them exists), and the capacity as an int.

    Raises:
        TypeError: If the heuristic returns something that is no array of numbers.
    """
    distances = colony.unit_diagonal(instance.data["distance_matrix"])
    points, demands = instance.data["coordinates"].view(), instance.data["demands"].astype(np.float64)
    points.flags.writeable = demands.flags.writeable = False
    return colony.to_matrix(heuristic(distances, points, demands, int(instance.data["capacity"])))


def objective(instance: Instance, solution: Solution) -> float:
    """Total length of the cheapest routes that a colony guided by the matrix finds, minimised. Raises `Infeasible`."""
    return _found(instance, solution).cost


def reference(split: str) -> np.ndarray:
    """Least total length known of each instance, float64, in instance order; see `optima/README.md`."""
    check_split("cvrp-aco", split, split_names(STREAM))
    return np.load(Path(__file__).parent / "optima" / f"{split}.npy")


def solvers() -> dict[str, Callable[[Instance], Solution]]:
    """Those of the problem cvrp: {name: function(instance) -> a matrix that leads every ant along its routes}."""
    return {name: colony.leading(solver) for name, solver in cvrp().solvers().items()}


def draw(instance: Instance, solution: Solution) -> str:
    """The colony's cheapest routes as SVG text; a square marks the depot.

    Raises:
        Infeasible: If the matrix is refused.
        ContentError: If the instance has no coordinates.
    """
    found = _found(instance, solution)
    return draw_routes(instance, found.path, found.cost)


def _found(instance: Instance, solution: Solution) -> colony.Found:
    data = instance.data
    weights = colony.check_weights(solution, len(data["distance_matrix"]))
    return colony.cheapest_routes(
        data["distance_matrix"], weights, data["demands"], int(data["capacity"]), instance.seed
    )
