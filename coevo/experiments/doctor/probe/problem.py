"""A problem whose solving takes no time: what is run in it are attacks on the sandbox."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from coevo.errors import Infeasible
from coevo.interfaces import Instance


def instances(split: str) -> list[Instance]:
    """Two instances of three values each."""
    return [Instance(f"{split}-{number}", number, {"values": np.arange(3.0) + number}) for number in range(2)]


def solve(heuristic: Callable[..., int], instance: Instance) -> NDArray[np.int64]:
    """The place that the heuristic chooses."""
    return np.array([int(heuristic(instance.data["values"]))])


def objective(instance: Instance, solution: NDArray[np.int64]) -> float:
    """The value at that place."""
    values = np.asarray(instance.data["values"])
    if solution.shape != (1,) or not 0 <= int(solution[0]) < len(values):
        raise Infeasible("expected the place of one value")
    return float(values[int(solution[0])])
