"""Bin packing by construction: a heuristic rates all pairs of items, and a randomised greedy rule packs by the ratings.

Instances are those of Agentic-ESOpt, drawn from NumPy's legacy generator, one stream per kind of split; `STREAMS` is
the order, with its training set as `search`. It has 120 items for validation only; here `test120` is drawn after the
others of the test stream. What the construction does differently is said in `construction.py`; and a matrix with an
entry of minus infinity, which that program lets pass, is refused.

`objective` builds the packing, outside the sandbox. It prices a finished packing too, one bin per item: that is what
textbook algorithms and solvers return, and `solve` lets a heuristic return nothing but a matrix.
"""

from pathlib import Path

import numpy as np

from coevo.errors import Infeasible
from coevo.interfaces import Heuristic, Instance, Solution
from coevo.problemkit.packing import check_packing, count_bins
from coevo.problemkit.packing_problem import (
    classics,
    draw_bins,
    packing_instance,
    read,
    read_reference,
    sizes_of,
    solvers,
)
from coevo.problemkit.splits import check_split, draw_split, split_names

from .construction import best_packing

__all__ = [
    "classics", "draw", "instances", "objective", "read", "read_reference", "reference", "solve", "solvers",
]  # fmt: skip

CAPACITY = 150
SMALLEST, LARGEST = 20, 100

STREAMS = {
    5: (("search", 5, 500),),
    3: ((None, 64, 120), ("val", 64, 500), (None, 64, 1000)),
    4: (("test500", 64, 500), ("test1000", 64, 1000), ("test120", 64, 120)),
}
"""By seed of the stream, its order: (split, instances, items); None for published instances that no split uses."""

SPLITS = [name for parts in STREAMS.values() for name in split_names(parts)]


def instances(split: str) -> list[Instance]:
    """The instances of a split: `sizes`, integers from 20 to 100, shape (n,), and the `capacity` 150.

    An instance's seed is 1000 times that of its stream, plus its place in the stream, so no two share one.

    Raises:
        ConfigError: If there is no such split.
    """
    check_split("bpp", split, SPLITS)
    seed, parts = next(each for each in STREAMS.items() if split in split_names(each[1]))
    stream = np.random.RandomState(seed)
    place, rows = draw_split(parts, split, lambda *shape: stream.randint(SMALLEST, LARGEST + 1, size=shape))
    return [packing_instance(f"{split}-{i}", 1000 * seed + place + i, row, CAPACITY) for i, row in enumerate(rows)]


def solve(heuristic: Heuristic, instance: Instance) -> Solution:
    """Ask the heuristic for its matrix, once.

    Returns:
        Float64, shape (n, n).

    Raises:
        TypeError: If it returns something that is no array of real numbers.
        Infeasible: If the shape is another.
    """
    sizes, capacity = sizes_of(instance)
    demands = sizes.view()
    demands.flags.writeable = False
    matrix = np.asarray(heuristic(demands, capacity))
    if matrix.dtype.kind not in "iuf":
        raise TypeError(f"expected heuristics to return a matrix of real numbers, got {matrix.dtype}")
    return _shaped(matrix, len(demands)).astype(np.float64)


def objective(instance: Instance, solution: Solution) -> float:
    """Number of bins of the best packing that the matrix leads to under the instance's seed, minimised.

    Args:
        instance: The instance.
        solution: A matrix as `solve` returns it, or a packing: one bin per item, shape (n,), integers.

    Raises:
        Infeasible: If the matrix is not finite or has no entry above 0, or the packing breaks a constraint.
    """
    return float(count_bins(packing_of(instance, solution)))


def packing_of(instance: Instance, solution: Solution) -> np.ndarray:
    """The bin of each item, checked, int64, shape (n,). Raises `Infeasible`."""
    sizes, capacity = sizes_of(instance)
    if np.ndim(solution) == 1:
        return check_packing(solution, sizes, capacity)
    matrix = _shaped(np.asarray(solution), len(sizes))
    if matrix.dtype.kind not in "iuf" or not np.isfinite(matrix).all():
        raise Infeasible("expected a matrix of finite real numbers")
    if not matrix.max() > 0:
        raise Infeasible(f"expected the largest entry of the matrix above 0, got {matrix.max()}")
    return check_packing(best_packing(matrix, sizes, capacity, instance.seed), sizes, capacity)


def reference(split: str) -> np.ndarray:
    """Fewest bins of each instance, float64, in instance order; `optima/README.md` says how proven."""
    check_split("bpp", split, SPLITS)
    return np.load(Path(__file__).parent / "optima" / f"{split}.npy")


def draw(instance: Instance, solution: Solution) -> str:
    """The packing as SVG text, one bar per bin. Raises `Infeasible`."""
    return draw_bins(instance, packing_of(instance, solution))


def _shaped(matrix: np.ndarray, size: int) -> np.ndarray:
    if matrix.shape != (size, size):
        raise Infeasible(f"expected a matrix of shape ({size}, {size}), got {matrix.shape}")
    return matrix
