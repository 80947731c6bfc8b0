"""Ant system (Dorigo, Maniezzo and Colorni 1996) on closed tours and on capacitated routes, guided by a weight matrix.

The setting is that of Agentic-ESOpt: 30 ants, 100 iterations, both exponents 1, pheromone 1 at first. In an iteration,
every ant walks with probabilities in proportion to pheromone times weight; then the pheromone is multiplied by 0.9,
and every ant adds 1/cost on the edges it took, both ways on a tour, in its own direction on routes. The result is the
cheapest path of all ants and iterations.

What differs from that system, on purpose:

- an ant that has served everybody stops; there it kept stepping from depot to depot, at a cost of 1 and with a deposit
  each time, until the last ant was done;
- float64 on every split; there, float32 on some;
- weights have a floor of 1e-9 and nothing is added to them, and a matrix that is not finite is refused; there, what
  became of one depended on problem and split;
- weights have a ceiling of 1e100, and a cost counts as at least 1e-100 for a deposit, so that no product overflows;
- the pheromone has a floor of 1e-10 on tours too; in 100 iterations it cannot fall that far (0.9¹⁰⁰ = 2.7e-5);
- random numbers come from NumPy's `default_rng(seed)`, a block of uniforms per iteration.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.errors import Infeasible
from coevo.interfaces import Instance, Solution
from coevo.problemkit import colony_kernels as kernels

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

NUM_ANTS = 30
NUM_ITERATIONS = 100
LEAST_WEIGHT = 1e-9
LARGEST_WEIGHT = 1e100


@dataclass(frozen=True, slots=True)
class Found:
    """The cheapest path of a colony.

    Attributes:
        cost: Its length, in the unit of the distances; minimised.
        path: Node ids, int64, with the node it starts from again at the end. A path over routes starts at the depot,
            node 0, and is back there at the end of every route.
    """

    cost: float
    path: IntArray


@dataclass(frozen=True, slots=True)
class _Walk:
    """How the ants of a colony walk: (attraction, uniforms, paths) -> entries of each path, written into `paths`."""

    walk: Callable[[FloatArray, FloatArray, IntArray], IntArray]
    num_steps: int
    marks_both_ways: bool


def unit_diagonal(distances: FloatArray) -> FloatArray:
    """The distances as a heuristic gets them: a read-only copy with 1 on the diagonal, so that 1/distance is finite."""
    copied = np.array(distances, dtype=np.float64)
    np.fill_diagonal(copied, 1.0)
    copied.flags.writeable = False
    return copied


def to_matrix(value: object) -> FloatArray:
    """What a heuristic returned as an array of float64; shape and values are for `check_weights` to judge.

    Raises:
        TypeError: If it is no array of integers or floats. Booleans are not weights, though Python would count them.
        ValueError: If NumPy cannot make an array of it.
    """
    array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"expected heuristics to return a matrix of numbers, got {type(value).__name__} {array.dtype}")
    with np.errstate(over="ignore"):
        return np.array(array, dtype=np.float64)


def check_weights(matrix: NDArray[Any], num_nodes: int) -> FloatArray:
    """The weights a colony uses: a copy with everything below the floor raised to it, negative numbers included.

    Args:
        matrix: What came out of the sandbox: any array.
        num_nodes: How many nodes the instance has, the depot included.

    Returns:
        Shape (num_nodes, num_nodes), float64, from `LEAST_WEIGHT` to `LARGEST_WEIGHT`.

    Raises:
        Infeasible: If the matrix has another type or shape, or a value that is not finite.
    """
    matrix = np.asarray(matrix)
    if matrix.dtype != np.float64:
        raise Infeasible(f"expected weights of type float64, got {matrix.dtype}")
    if matrix.shape != (num_nodes, num_nodes):
        raise Infeasible(f"expected a matrix of shape {(num_nodes, num_nodes)}, got {matrix.shape}")
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        raise Infeasible(f"the weight at [{row}, {column}] is {matrix[row, column]}; expected finite numbers")
    weights: FloatArray = np.array(matrix, order="C")
    return np.clip(weights, LEAST_WEIGHT, LARGEST_WEIGHT, out=weights)


def shortest_tour(distances: FloatArray, weights: FloatArray, seed: int) -> Found:
    """The shortest closed tour a colony finds; its ants start from random nodes.

    Args:
        distances: Shape (n, n), float64, ≥ 0.
        weights: Shape (n, n), as `check_weights` returns them; row = where an ant is.
        seed: Of all that is random; the same seed finds the same tour.

    Returns:
        A path of n + 1 entries, or an empty one of cost 0 if there are no nodes.
    """
    size = len(distances)
    if size == 0:
        return Found(0.0, np.empty(0, np.int64))

    def walk(attraction: FloatArray, uniforms: FloatArray, paths: IntArray) -> IntArray:
        kernels.walk_tours(attraction, uniforms, paths)
        return np.full(len(paths), size + 1)

    return _search(distances, weights, seed, _Walk(walk, size, marks_both_ways=True))


def cheapest_routes(distances: FloatArray, weights: FloatArray, demands: IntArray, capacity: int, seed: int) -> Found:
    """The cheapest routes a colony finds that start and end at the depot, node 0, and serve every customer once.

    Args:
        distances: Shape (n + 1, n + 1), float64, ≥ 0.
        weights: Shape (n + 1, n + 1), as `check_weights` returns them; row = where an ant is.
        demands: Shape (n + 1,), int64; that of the depot is not read.
        capacity: What a vehicle carries.
        seed: Of all that is random; the same seed finds the same routes.

    Returns:
        A path of which no part between two visits to the depot needs more than the capacity, as
        `coevo.problemkit.routes` checks and splits it.

    Raises:
        ValueError: If there is no depot, or a customer's demand is negative or more than a vehicle carries.
    """
    num_customers = len(distances) - 1
    if num_customers < 0:
        raise ValueError("expected a depot as node 0, got no nodes")
    demands = np.array(demands, np.int64)
    for customer in 1 + np.flatnonzero((demands[1:] < 0) | (demands[1:] > capacity)):
        raise ValueError(f"expected demands from 0 to the capacity {capacity}, node {customer} has {demands[customer]}")

    def walk(attraction: FloatArray, uniforms: FloatArray, paths: IntArray) -> IntArray:
        return kernels.walk_routes(attraction, demands, int(capacity), uniforms, paths)

    # At most two steps per customer: one to it, and one from it to the depot.
    return _search(distances, weights, seed, _Walk(walk, 2 * num_customers, marks_both_ways=False))


def weights_along(path: IntArray, num_nodes: int) -> FloatArray:
    """Weights that keep every ant on a given path, so that a colony finds it: how a known solution is handed over.

    Args:
        path: As in `Found`: a closed tour, or routes with the depot 0 at both ends and in between.
        num_nodes: How many nodes the instance has.

    Returns:
        Shape (num_nodes, num_nodes), float64: `LARGEST_WEIGHT` on the path's edges, in its direction, else 0.
    """
    weights = np.zeros((num_nodes, num_nodes))
    weights[path[:-1], path[1:]] = LARGEST_WEIGHT
    return weights


def leading(solver: Callable[[Instance], Solution]) -> Callable[[Instance], Solution]:
    """A solver that returns tours or routes, turned into one that returns `weights_along` them."""

    def solve_by_weights(instance: Instance) -> Solution:
        path = solver(instance)
        # A tour leaves its way back unsaid.
        closed = path if np.array_equal(path[:1], path[-1:]) else np.append(path, path[:1])
        return weights_along(closed, len(np.asarray(instance.data["distance_matrix"])))

    return solve_by_weights


def _search(distances: FloatArray, weights: FloatArray, seed: int, ants: _Walk) -> Found:
    # A copy that may be written to: for read-only arrays, Numba would compile every kernel once more.
    distances, pheromone = np.array(distances, np.float64, order="C"), np.ones(weights.shape)
    paths = np.zeros((NUM_ANTS, ants.num_steps + 1), np.int64)
    random, uniforms = np.random.default_rng(seed), np.empty((NUM_ANTS, ants.num_steps))
    found = Found(np.inf, paths[0])
    for _ in range(NUM_ITERATIONS):
        sizes = ants.walk(pheromone * weights, random.random(out=uniforms), paths)
        costs = kernels.path_costs(distances, paths, sizes)
        best = int(costs.argmin())
        if costs[best] < found.cost:
            found = Found(float(costs[best]), paths[best, : sizes[best]].copy())
        kernels.mark_paths(pheromone, paths, sizes, costs, ants.marks_both_ways)
    return found
