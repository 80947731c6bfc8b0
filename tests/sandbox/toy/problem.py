"""Tours over five nodes; as small as a problem gets."""

import numpy as np

from coevo.errors import Infeasible
from coevo.interfaces import Instance

COUNTS = {"search": 3, "val": 2, "large": 300}


def instances(split):
    """Random points in the unit square, from each instance's own seed."""
    return [
        Instance(f"{split}-{seed}", seed, {"points": np.random.default_rng(seed).random((5, 2))})
        for seed in range(COUNTS[split])
    ]


def solve(heuristic, instance):
    """Ask for the next node until none is left; whatever comes is taken down as it is."""
    points = instance.data["points"]
    distances = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    tour, unvisited = [0], list(range(1, len(points)))
    while len(tour) < len(points):
        chosen = heuristic(tour[-1], np.array(unvisited), distances)
        unvisited = [node for node in unvisited if node != chosen]
        tour.append(chosen)
    return np.array(tour)


def objective(instance, solution):
    """Length of the closed tour."""
    points = instance.data["points"]
    if solution.shape != (len(points),) or solution.dtype.kind not in "iu":
        raise Infeasible(f"a tour is {len(points)} node numbers, got {solution.dtype} of shape {solution.shape}")
    if solution.min() < 0 or solution.max() >= len(points):
        raise Infeasible("a node number is out of range")
    if len(set(solution.tolist())) < len(points):
        raise Infeasible("a node is visited twice")
    ordered = points[solution]
    return float(np.hypot(*(ordered - np.roll(ordered, -1, axis=0)).T).sum())
