"""Online bin packing: a heuristic scores the bins for each item as it arrives.

The protocol is FunSearch's (Romera-Paredes et al., Nature 625, 2024), with three differences. The room left comes as
float64 instead of int64, so that an array made like it can hold scores; NaN is refused, where it would have been taken
for the largest score; and the instances of 1,000 and 5,000 items are drawn here, from the distribution of its Weibull
sets. Infinite scores are allowed: they have an order, and 1 / (bins - item) is infinite exactly where an item fills a
bin.

That items still to come are unknown is the protocol, not a wall: a heuristic shares its process with `solve`, and one
that sets out to read the caller's memory can find them. `objective` refuses what is infeasible; it cannot tell
foresight from luck. Look at a heuristic that is far better than `no_small_gaps` before you believe it.
"""

import numpy as np

from coevo.interfaces import Heuristic, Instance, Solution
from coevo.problemkit.packing import check_packing, count_bins, sum_bound
from coevo.problemkit.packing_problem import (
    classics,
    draw_bins,
    packing_instance,
    read,
    read_reference,
    sizes_of,
    solvers,
)
from coevo.problemkit.splits import check_split

from .online import pack_online

__all__ = [
    "classics", "draw", "instances", "objective", "read", "read_reference", "reference", "solve", "solvers",
]  # fmt: skip

SHAPE, SCALE, CAPACITY = 3.0, 45.0, 100

SPLITS = {"search": (0, 8, 1000), "val": (1000, 8, 1000), "test1000": (2000, 64, 1000), "test5000": (3000, 5, 5000)}
"""Of each split: seed of the first instance, instances, items. The seeds of the others follow one by one."""


def instances(split: str) -> list[Instance]:
    """The instances of a split: `sizes` in order of arrival, integers from 1 to 100, shape (n,); the `capacity` 100.

    An instance is drawn from a NumPy generator (PCG64) with the instance's own seed.

    Raises:
        ConfigError: If there is no such split.
    """
    check_split("bpp-online", split, SPLITS)
    seed, count, items = SPLITS[split]
    return [_instance(f"{split}-{i}", seed + i, items) for i in range(count)]


def solve(heuristic: Heuristic, instance: Instance) -> Solution:
    """Let the heuristic place the items one by one.

    Returns:
        The bin of each item, int64, shape (n,).

    Raises:
        TypeError, ValueError: If the heuristic returns anything but one real number per bin; NaN is none.
    """
    return pack_online(heuristic, *sizes_of(instance))


def objective(instance: Instance, solution: Solution) -> float:
    """Number of bins that hold an item, minimised; capacity is checked with integers. Raises `Infeasible`."""
    return float(count_bins(_checked(instance, solution)))


def reference(split: str) -> np.ndarray:
    """Total size over capacity, rounded up, of each instance, float64: a bound, so that gaps are FunSearch's excess."""
    return np.array([sum_bound(*sizes_of(each)) for each in instances(split)], dtype=float)


def draw(instance: Instance, solution: Solution) -> str:
    """The packing as SVG text, one bar per bin, items stacked as they came. Raises `Infeasible`."""
    return draw_bins(instance, _checked(instance, solution))


def _instance(name: str, seed: int, items: int) -> Instance:
    drawn = SCALE * np.random.default_rng(seed).weibull(SHAPE, items)
    sizes = np.clip(np.rint(np.minimum(drawn, CAPACITY)), 1, CAPACITY).astype(np.int64)
    return packing_instance(name, seed, sizes, CAPACITY)


def _checked(instance: Instance, solution: Solution) -> np.ndarray:
    return check_packing(solution, *sizes_of(instance))
