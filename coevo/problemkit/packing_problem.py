"""What the bin-packing problems do alike: their instances, reference packings, files and drawings.

The data of an instance are `sizes`, int64, shape (n,), each from 1 to the `capacity`, an int; a packing is the bin of
each item, int64, shape (n,). Problem folders offer most of these functions under their names; see `coevo.interfaces`.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coevo.interfaces import Instance, Solution
from coevo.problemkit.packing import best_fit_decreasing, count_bins, first_fit_decreasing
from coevo.problemkit.packing_drawing import draw_packing
from coevo.problemkit.packing_files import read_packings
from coevo.problemkit.packing_solver import solver_packing

IntArray = NDArray[np.int64]

SOLVER_S = 60.0
"""Longest wall time of the reference solver on one instance."""


def packing_instance(name: str, seed: int, sizes: NDArray[np.integer], capacity: int) -> Instance:
    """An instance of these sizes, copied to read-only int64."""
    copied = sizes.astype(np.int64)
    copied.flags.writeable = False
    return Instance(name, seed, {"sizes": copied, "capacity": capacity})


def sizes_of(instance: Instance) -> tuple[IntArray, int]:
    """The sizes and the capacity of an instance."""
    return np.asarray(instance.data["sizes"]), int(instance.data["capacity"])


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
    return [
        Instance(record.name, place, {"sizes": record.sizes, "capacity": record.capacity})
        for place, record in enumerate(read_packings(path, capacity))
    ]


def read_reference(path: Path, capacity: int | None = None) -> list[float | None]:
    """Best known number of bins as the file states it, per instance, None where it does not. As `read` otherwise."""
    return [None if record.best is None else float(record.best) for record in read_packings(path, capacity)]


def draw_bins(instance: Instance, packing: IntArray) -> str:
    """A packing that was checked, as SVG text: one bar per bin, items stacked in order of index."""
    sizes, capacity = sizes_of(instance)
    title = f"{instance.name}: {len(sizes)} items in {count_bins(packing)} bins of {capacity}"
    return draw_packing(packing, sizes, capacity, title=title)


def _packed(algorithm: Callable[[IntArray, int], IntArray], instance: Instance) -> Solution:
    return algorithm(*sizes_of(instance))
