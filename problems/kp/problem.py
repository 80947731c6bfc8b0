"""0/1 knapsack by construction: a heuristic chooses the next item, again and again, until no remaining item fits.

The setting is that of Agentic-ESOpt's constructive knapsack, on other random instances: its arrays follow from no known
seed. One rule holds on every split, the one its search evaluator has: an item fits if it weighs at most `EPSILON` more
than what is left, and a choice that does not fit makes the whole solution infeasible. Its test evaluator stopped there
instead and kept the value so far, and gave no epsilon; it also took None as "stop", which is a crash here.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from coevo.errors import Infeasible
from coevo.interfaces import Heuristic, Instance, Solution
from coevo.problemkit.knapsack_files import read_knapsacks
from coevo.problemkit.returned import whole_number
from coevo.problemkit.splits import check_split

from .drawing import draw_knapsack
from .exact import solve_with_ortools
from .packing import check_items, total
from .sahni import best_completed_greedy

EPSILON = 1e-12
"""How much heavier than the remaining capacity an item may be and still fits: room for the rounding of subtractions."""

SPLITS = {
    "search": (21, 64, 100, 25.0),
    "val": (22, 64, 100, 25.0),
    "test50": (23, 1000, 50, 12.5),
    "test100": (24, 1000, 100, 25.0),
    "test200": (25, 1000, 200, 25.0),
}
"""Seed of NumPy's legacy generator, instances, items and capacity of each split."""

NUMBER_BYTES = 8
"""Bytes of one float64 in the buffers behind `weights` and `values`."""


def instances(split: str) -> list[Instance]:
    """The instances of a split: `capacity`, and `weights` and `values`, each (items,) and uniform in [0, 1).

    One `RandomState(seed)` per split; for each instance, item by item, a weight and a value are drawn. An instance's
    own seed is 10,000 × the split's seed + its index.

    Raises:
        ConfigError: If there is no such split.
    """
    check_split("kp", split, SPLITS)
    seed, count, items, capacity = SPLITS[split]
    drawn = np.random.RandomState(seed).random_sample((count, items, 2))
    return [
        _instance(f"{split}-{i}", 10_000 * seed + i, capacity, each[:, 0].copy(), each[:, 1].copy())
        for i, each in enumerate(drawn)
    ]


def solve(heuristic: Heuristic, instance: Instance) -> Solution:
    """Let the heuristic choose items while one of those left fits; it sees all that are left, also those too heavy.

    Integers, NumPy integers and integer arrays of size 1 are indices. A float is not, even if whole, and a negative
    index does not count from the end.

    Returns:
        Ids of the chosen items in the order of the choices, int64.

    Raises:
        TypeError: If the heuristic returns something that is not an integer.
        Infeasible: If the index is none of a remaining item, or that item does not fit.
    """
    remaining = float(instance.data["capacity"])
    sizes = instance.data["weights"].tolist()
    # Bytes are cut faster than an array is masked, and an array over bytes can never be made writeable.
    weights, values = instance.data["weights"].tobytes(), instance.data["values"].tobytes()
    left, chosen = list(range(len(sizes))), []
    by_weight = sorted(left, key=sizes.__getitem__, reverse=True)
    while by_weight and sizes[by_weight[-1]] <= remaining + EPSILON:
        chosen_index = heuristic(remaining, np.frombuffer(weights), np.frombuffer(values))
        index = whole_number(chosen_index, "select_next_item", "index")
        item = _fitting(index, left, sizes, remaining)
        chosen.append(item)
        by_weight.remove(item)
        del left[index]
        cut, rest = index * NUMBER_BYTES, (index + 1) * NUMBER_BYTES
        weights, values = weights[:cut] + weights[rest:], values[:cut] + values[rest:]
        remaining -= sizes[item]
    return np.array(chosen, dtype=np.int64)


def objective(instance: Instance, solution: Solution) -> float:
    """Total value of the chosen items, maximised; their order is irrelevant.

    The capacity is exact but for `EPSILON` and the rounding of `solve`: it subtracts at most n weights, each time with
    an error of half a unit in the last place of the capacity, so a set that it took to fit weighs at most EPSILON +
    (n + 2) such units more.

    Raises:
        Infeasible: For what is no set of items, or weighs too much.
    """
    capacity, weights = float(instance.data["capacity"]), instance.data["weights"]
    items = check_items(solution, len(weights))
    tolerance = EPSILON + (len(weights) + 2) * float(np.spacing(capacity))
    if (weight := total(weights, items)) > capacity + tolerance:
        raise Infeasible(f"the {len(items)} items weigh {weight:.12g}, more than the capacity {capacity:.12g}")
    return total(instance.data["values"], items)


def reference(split: str) -> np.ndarray:
    """Largest value of each instance, float64, in instance order; `optima/README.md` says how proven."""
    check_split("kp", split, SPLITS)
    return np.load(Path(__file__).parent / "optima" / f"{split}.npy")


def classics() -> dict[str, Callable[[Instance], Solution]]:
    """A textbook algorithm that does not fit the step-by-step interface: {name: function(instance) -> solution}."""
    return {"greedy from every first item (Sahni)": best_completed_greedy}


def solvers() -> dict[str, Callable[[Instance], Solution]]:
    """{"ortools": an optimal solution by OR-Tools' knapsack solver}; `exact.py` says how exact floats are."""
    return {"ortools": solve_with_ortools}


def read(path: Path, *, capacity: float | None = None) -> list[Instance]:
    """The instances in a file, of a form that `coevo.problemkit.knapsack_files` knows; an instance's seed is its index.

    Args:
        path: The file.
        capacity: The capacity of all instances of a NumPy file.

    Raises:
        InstanceFileError: If the file is malformed, or a capacity is missing.
    """
    found = read_knapsacks(path, capacity)
    stem = Path(path).stem
    names = [stem] if len(found) == 1 else [f"{stem}-{i}" for i in range(len(found))]
    return [
        _instance(name, i, each.capacity, each.weights, each.values)
        for i, (name, each) in enumerate(zip(names, found, strict=True))
    ]


def read_reference(path: Path, *, capacity: float | None = None) -> list[float | None] | None:
    """Value of the optimal solution at the end of the file; None if it has none. Raises `InstanceFileError`."""
    best = [each.best for each in read_knapsacks(path, capacity)]
    return None if all(value is None for value in best) else best


def draw(instance: Instance, solution: Solution) -> str:
    """The knapsack as SVG text: a bar as wide as its capacity, filled with the chosen items. Raises `Infeasible`."""
    return draw_knapsack(instance, check_items(solution, len(instance.data["weights"])), objective(instance, solution))


def _instance(name: str, seed: int, capacity: float, weights: np.ndarray, values: np.ndarray) -> Instance:
    weights.flags.writeable = values.flags.writeable = False
    return Instance(name, seed, {"capacity": capacity, "weights": weights, "values": values})


def _fitting(index: int, left: list[int], sizes: list[float], remaining: float) -> int:
    """Id of the remaining item with this index, if there is one and it fits."""
    if not 0 <= index < len(left):
        raise Infeasible(f"index {index} is none of the {len(left)} remaining items, 0 to {len(left) - 1}")
    item = left[index]
    if not sizes[item] <= remaining + EPSILON:
        raise Infeasible(f"item {item} weighs {sizes[item]:.12g}, more than the remaining capacity {remaining:.12g}")
    return item
