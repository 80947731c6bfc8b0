"""Bin packing by construction: a heuristic rates all pairs of items, and a randomised greedy rule packs by the ratings.

Instances are those of Agentic-ESOpt, drawn from NumPy's legacy generator, one stream per kind of split; `STREAMS` is
the order, with its training set as `search`. It has 120 items for validation only; here `test120` is drawn after the
others of the test stream. What the construction does differently is said in `construction.py`; and a matrix with an
entry of minus infinity, which that program lets pass, is refused.

`objective` builds the packing, outside the sandbox. It prices a finished packing too, one bin per item: that is what
textbook algorithms and solvers return, and `solve` lets a heuristic return nothing but a matrix.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from coevo.errors import ConfigError, Infeasible
from coevo.interfaces import Heuristic, Instance, Solution
from coevo.problemkit.packing import best_fit_decreasing, check_packing, count_bins, first_fit_decreasing
from coevo.problemkit.packing_drawing import draw_packing
from coevo.problemkit.packing_files import read_packings
from coevo.problemkit.packing_solver import solver_packing

from .construction import best_packing

CAPACITY = 150
SMALLEST, LARGEST = 20, 100

STREAMS = {
    5: (("search", 5, 500),),
    3: ((None, 64, 120), ("val", 64, 500), (None, 64, 1000)),
    4: (("test500", 64, 500), ("test1000", 64, 1000), ("test120", 64, 120)),
}
"""By seed of the stream, its order: (split, instances, items); None for published instances that no split uses."""

SOLVER_S = 60.0
"""Longest wall time of the reference solver on one instance."""


def instances(split: str) -> list[Instance]:
    """The instances of a split: `demands`, integers from 20 to 100, shape (n,), and the `capacity` 150.

    An instance's seed is 1000 times that of its stream, plus its place in the stream, so no two share one.

    Raises:
        ConfigError: If there is no such split.
    """
    for seed, parts in STREAMS.items():
        stream, place = np.random.RandomState(seed), 0
        for name, count, items in parts:
            demands = stream.randint(SMALLEST, LARGEST + 1, size=(count, items))
            if name == split:
                return [_instance(f"{split}-{i}", 1000 * seed + place + i, row) for i, row in enumerate(demands)]
            place += count
    known = ", ".join(name for parts in STREAMS.values() for name, _, _ in parts if name)
    raise ConfigError(f"expected a split of the problem bpp ({known}), got {split!r}")


def solve(heuristic: Heuristic, instance: Instance) -> Solution:
    """Ask the heuristic for its matrix, once.

    Returns:
        Float64, shape (n, n).

    Raises:
        TypeError: If it returns something that is no array of real numbers.
        Infeasible: If the shape is another.
    """
    demands = instance.data["demands"].view()
    demands.flags.writeable = False
    matrix = np.asarray(heuristic(demands, int(instance.data["capacity"])))
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
    demands, capacity = instance.data["demands"], int(instance.data["capacity"])
    if np.ndim(solution) == 1:
        return check_packing(solution, demands, capacity)
    matrix = _shaped(np.asarray(solution), len(demands))
    if matrix.dtype.kind not in "iuf" or not np.isfinite(matrix).all():
        raise Infeasible("expected a matrix of finite real numbers")
    if not matrix.max() > 0:
        raise Infeasible(f"expected the largest entry of the matrix above 0, got {matrix.max()}")
    return check_packing(best_packing(matrix, demands, capacity, instance.seed), demands, capacity)


def reference(split: str) -> np.ndarray:
    """Fewest bins of each instance, float64, in instance order; `optima/README.md` says how proven."""
    instances(split)
    return np.load(Path(__file__).parent / "optima" / f"{split}.npy")


def classics() -> dict[str, Callable[[Instance], Solution]]:
    """Textbook constructions that rate no pairs: {name: function(instance) -> packing}."""
    return {
        "best fit decreasing": partial(_packed, best_fit_decreasing),
        "first fit decreasing": partial(_packed, first_fit_decreasing),
    }


def solvers() -> dict[str, Callable[[Instance], Solution]]:
    """Reference solvers: {name: function(instance) -> packing}."""
    return {"ortools": partial(_packed, partial(solver_packing, seconds=SOLVER_S))}


def read(path: Path, capacity: int | None = None) -> list[Instance]:
    """The instances in a file, in its order; an instance's seed is its place. Raises `InstanceFileError`."""
    records = read_packings(path, capacity)
    return [
        Instance(record.name, place, {"demands": record.sizes, "capacity": record.capacity})
        for place, record in enumerate(records)
    ]


def read_reference(path: Path, capacity: int | None = None) -> list[float | None]:
    """Best known number of bins as the file states it, per instance, None where it does not. As `read` otherwise."""
    return [None if record.best is None else float(record.best) for record in read_packings(path, capacity)]


def draw(instance: Instance, solution: Solution) -> str:
    """The packing as SVG text, one bar per bin. Raises `Infeasible`."""
    demands, capacity = instance.data["demands"], int(instance.data["capacity"])
    packing = packing_of(instance, solution)
    title = f"{instance.name}: {len(demands)} items in {count_bins(packing)} bins of {capacity}"
    return draw_packing(packing, demands, capacity, title=title)


def _instance(name: str, seed: int, demands: np.ndarray) -> Instance:
    demands = demands.astype(np.int64)
    demands.flags.writeable = False
    return Instance(name, seed, {"demands": demands, "capacity": CAPACITY})


def _shaped(matrix: np.ndarray, size: int) -> np.ndarray:
    if matrix.shape != (size, size):
        raise Infeasible(f"expected a matrix of shape ({size}, {size}), got {matrix.shape}")
    return matrix


def _packed(algorithm: Callable[[np.ndarray, int], np.ndarray], instance: Instance) -> Solution:
    return algorithm(instance.data["demands"], int(instance.data["capacity"]))
