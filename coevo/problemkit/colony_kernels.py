"""Numba kernels of the ant colony: paths are walked, measured and marked, one iteration at a time.

A path is a row of node ids; of row `ant`, the first `sizes[ant]` entries count. Arrays may be written to in place where
a docstring says so. No kernel draws random numbers: they get uniforms from [0, 1), so that the same uniforms give the
same paths with and without Numba.

A next node is drawn by inverting running sums of weights. They are formed four at a time, so that only one addition in
four waits for the one before, and the place in them is counted rather than searched for, because a branch that depends
on chance is guessed wrong half of the time. Rounding keeps running sums of weights ≥ 0 in order, and u·total < total
for every u that a generator returns, so a node of weight zero is never drawn.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

DECAY = 0.9
LEAST_PHEROMONE = 1e-10
LEAST_COST = 1e-100


def _kernel(function: F) -> F:
    return cast(F, njit(cache=True)(function))


@_kernel
def walk_tours(attraction: FloatArray, uniforms: FloatArray, tours: IntArray) -> None:
    """Let every ant walk a closed tour from a random node, choosing next nodes in proportion to attraction.

    The ants take each step together: the walk of one does not wait for that of another, so a processor overlaps them.

    Args:
        attraction: Shape (n, n), float64, positive; row = where the ant is. n ≥ 1.
        uniforms: Shape (ants, n); column 0 chooses the start, column s the s-th step.
        tours: Shape (ants, n + 1), int64; overwritten, the last column repeats the first.
    """
    ants, size = uniforms.shape
    unvisited = np.empty((ants, size), np.uint32)
    sums = np.empty(size)
    for ant in range(ants):
        start = int(uniforms[ant, 0] * size)
        for node in range(size):
            unvisited[ant, node] = node
        unvisited[ant, start] = size - 1
        tours[ant, 0] = tours[ant, size] = start
    for step in range(1, size):
        count = size - step
        blocked = count // 4 * 4
        for ant in range(ants):
            left = unvisited[ant]
            row = attraction[tours[ant, step - 1]]
            total = 0.0
            for k in range(0, blocked, 4):
                first, third = row[left[k]], row[left[k + 2]]
                pair = first + row[left[k + 1]]
                sums[k] = total + first
                sums[k + 1] = total + pair
                sums[k + 2] = total + (pair + third)
                total += pair + (third + row[left[k + 3]])
                sums[k + 3] = total
            for k in range(blocked, count):
                total += row[left[k]]
                sums[k] = total
            drawn = uniforms[ant, step] * total
            place = 0
            for k in range(count):
                place += sums[k] <= drawn
            tours[ant, step] = left[place]
            left[place] = left[count - 1]


@_kernel
def walk_routes(
    attraction: FloatArray, demands: IntArray, capacity: int, uniforms: FloatArray, paths: IntArray
) -> IntArray:
    """Let every ant walk from the depot, node 0, until every customer is served and it is back; exact integer loads.

    A customer who no longer fits cannot be chosen; nor can the depot by an ant that stands there. An ant that is done
    walks no further.

    Args:
        attraction: Shape (n + 1, n + 1), float64, positive; row = where the ant is.
        demands: Shape (n + 1,), int64, of the customers 0 to `capacity`; that of the depot is not looked at.
        capacity: What a vehicle carries.
        uniforms: Shape (ants, 2n); column s chooses step s + 1.
        paths: Shape (ants, 2n + 1), int64; overwritten as far as each path goes.

    Returns:
        Number of path entries of each ant, int64, shape (ants,).
    """
    num_customers = len(attraction) - 1
    unserved = np.empty(num_customers, np.uint32)
    sums = np.empty(num_customers)
    sizes = np.empty(len(paths), np.int64)
    for ant in range(len(paths)):
        for k in range(num_customers):
            unserved[k] = k + 1
        count, step, here, room = num_customers, 0, 0, capacity
        paths[ant, 0] = 0
        while count > 0:
            row = attraction[here]
            total = 0.0
            blocked = count // 4 * 4
            for k in range(0, blocked, 4):
                a, b, c, d = unserved[k], unserved[k + 1], unserved[k + 2], unserved[k + 3]
                first = row[a] if demands[a] <= room else 0.0
                third = row[c] if demands[c] <= room else 0.0
                pair = first + (row[b] if demands[b] <= room else 0.0)
                sums[k] = total + first
                sums[k + 1] = total + pair
                sums[k + 2] = total + (pair + third)
                total += pair + (third + (row[d] if demands[d] <= room else 0.0))
                sums[k + 3] = total
            for k in range(blocked, count):
                a = unserved[k]
                total += row[a] if demands[a] <= room else 0.0
                sums[k] = total
            drawn = uniforms[ant, step] * (total + (row[0] if here != 0 else 0.0))
            place = 0
            for k in range(count):
                place += sums[k] <= drawn
            step += 1
            if place == count:
                here, room = 0, capacity
            else:
                here = unserved[place]
                room -= demands[here]
                count -= 1
                unserved[place] = unserved[count]
            paths[ant, step] = here
        if here != 0:
            step += 1
            paths[ant, step] = 0
        sizes[ant] = step + 1
    return sizes


@_kernel
def path_costs(distances: FloatArray, paths: IntArray, sizes: IntArray) -> FloatArray:
    """Length of each path, summed from its start: float64, shape (ants,), in the unit of `distances` (n, n)."""
    costs = np.zeros(len(paths))
    for ant in range(len(paths)):
        for step in range(1, sizes[ant]):
            costs[ant] += distances[paths[ant, step - 1], paths[ant, step]]
    return costs


@_kernel
def mark_paths(pheromone: FloatArray, paths: IntArray, sizes: IntArray, costs: FloatArray, both_ways: bool) -> None:
    """Let pheromone evaporate, then add 1/cost of each ant on the edges of its path, ant by ant, and keep its floor.

    Args:
        pheromone: Shape (n, n), float64; changed in place.
        paths: Shape (ants, steps), int64.
        sizes: Shape (ants,), int64.
        costs: Shape (ants,), float64, ≥ 0.
        both_ways: Whether an edge is marked against the direction of the walk too.
    """
    pheromone *= DECAY
    for ant in range(len(paths)):
        amount = 1.0 / max(costs[ant], LEAST_COST)
        for step in range(1, sizes[ant]):
            a, b = paths[ant, step - 1], paths[ant, step]
            pheromone[a, b] += amount
            if both_ways:
                pheromone[b, a] += amount
    for a in range(len(pheromone)):
        for b in range(len(pheromone)):
            pheromone[a, b] = max(pheromone[a, b], LEAST_PHEROMONE)
