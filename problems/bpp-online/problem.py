"""Online bin packing: a heuristic scores the bins for each item as it arrives.

The protocol is FunSearch's (Romera-Paredes et al., Nature 625, 2024), with three differences. The room left comes as
float64 instead of int64, so that an array made like it can hold scores; NaN is refused, where it would have been taken
for the largest score; and the instances of 1,000 and 5,000 items are drawn here, from the distribution of its Weibull
sets. Infinite scores are allowed: they have an order, and 1 / (bins - item) is infinite exactly where an item fills a
bin.

That items still to come are unknown is the protocol, not a wall: a heuristic shares its process with `solve`, and one
that sets out to read the caller's memory can find them. `objective` refuses what is infeasible; it cannot tell foresight
from luck. Look at a heuristic that is far better than `no_small_gaps` before you believe it.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from coevo.errors import ConfigError
from coevo.interfaces import Heuristic, Instance, Solution
from coevo.problemkit.packing import (
    best_fit_decreasing,
    check_packing,
    count_bins,
    first_fit_decreasing,
    sum_bound,
)
from coevo.problemkit.packing_drawing import draw_packing
from coevo.problemkit.packing_files import read_packings
from coevo.problemkit.packing_solver import solver_packing

from .online import pack_online

SHAPE, SCALE, CAPACITY = 3.0, 45.0, 100

SPLITS = {"search": (0, 8, 1000), "val": (1000, 8, 1000), "test1000": (2000, 64, 1000), "test5000": (3000, 5, 5000)}
"""Of each split: seed of the first instance, instances, items. The seeds of the others follow one by one."""

SOLVER_S = 60.0
"""Longest wall time of the reference solver on one instance."""


def instances(split: str) -> list[Instance]:
    """The instances of a split: `sizes` in order of arrival, integers from 1 to 100, shape (n,); the `capacity` 100.

    An instance is drawn from a NumPy generator (PCG64) with the instance's own seed.

    Raises:
        ConfigError: If there is no such split.
    """
    if split not in SPLITS:
        raise ConfigError(f"expected a split of the problem bpp-online ({', '.join(SPLITS)}), got {split!r}")
    seed, count, items = SPLITS[split]
    return [_instance(f"{split}-{i}", seed + i, items) for i in range(count)]


def solve(heuristic: Heuristic, instance: Instance) -> Solution:
    """Let the heuristic place the items one by one.

    Returns:
        The bin of each item, int64, shape (n,).

    Raises:
        TypeError, ValueError: If the heuristic returns anything but one real number per bin; NaN is none.
    """
    return pack_online(heuristic, instance.data["sizes"], int(instance.data["capacity"]))


def objective(instance: Instance, solution: Solution) -> float:
    """Number of bins that hold an item, minimised; capacity is checked with integers. Raises `Infeasible`."""
    return float(count_bins(_checked(instance, solution)))


def reference(split: str) -> np.ndarray:
    """Total size over capacity, rounded up, of each instance, float64: a bound, so that gaps are FunSearch's excess."""
    return np.array([sum_bound(each.data["sizes"], each.data["capacity"]) for each in instances(split)], dtype=float)


def classics() -> dict[str, Callable[[Instance], Solution]]:
    """Textbook constructions for one who knows all items beforehand: {name: function(instance) -> packing}."""
    return {
        "best fit decreasing": partial(_packed, best_fit_decreasing),
        "first fit decreasing": partial(_packed, first_fit_decreasing),
    }


def solvers() -> dict[str, Callable[[Instance], Solution]]:
    """Reference solvers, which know all items beforehand: {name: function(instance) -> packing}."""
    return {"ortools": partial(_packed, partial(solver_packing, seconds=SOLVER_S))}


def read(path: Path, capacity: int | None = None) -> list[Instance]:
    """The instances in a file, items in its order; an instance's seed is its place. Raises `InstanceFileError`."""
    records = read_packings(path, capacity)
    return [
        Instance(record.name, place, {"sizes": record.sizes, "capacity": record.capacity})
        for place, record in enumerate(records)
    ]


def read_reference(path: Path, capacity: int | None = None) -> list[float | None]:
    """Best known number of bins as the file states it, per instance, None where it does not. As `read` otherwise."""
    return [None if record.best is None else float(record.best) for record in read_packings(path, capacity)]


def draw(instance: Instance, solution: Solution) -> str:
    """The packing as SVG text, one bar per bin, items stacked as they came. Raises `Infeasible`."""
    sizes, capacity = instance.data["sizes"], int(instance.data["capacity"])
    packing = _checked(instance, solution)
    title = f"{instance.name}: {len(sizes)} items in {count_bins(packing)} bins of {capacity}"
    return draw_packing(packing, sizes, capacity, title=title)


def _instance(name: str, seed: int, items: int) -> Instance:
    drawn = SCALE * np.random.default_rng(seed).weibull(SHAPE, items)
    sizes = np.clip(np.rint(np.minimum(drawn, CAPACITY)), 1, CAPACITY).astype(np.int64)
    sizes.flags.writeable = False
    return Instance(name, seed, {"sizes": sizes, "capacity": CAPACITY})


def _checked(instance: Instance, solution: Solution) -> np.ndarray:
    return check_packing(solution, instance.data["sizes"], int(instance.data["capacity"]))


def _packed(algorithm: Callable[[np.ndarray, int], np.ndarray], instance: Instance) -> Solution:
    return algorithm(instance.data["sizes"], int(instance.data["capacity"]))
