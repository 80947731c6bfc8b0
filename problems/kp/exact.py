"""An optimal solution by OR-Tools' branch and bound for knapsacks, which calculates with 64-bit integers.

Every float is a whole multiple of a power of two, so the instance is scaled by powers of two, weights and values apart:
where the scaled sums fit into 62 bits (uniform random numbers of 53 bits and integers do) nothing is rounded. Where
they do not, weights are rounded up and the capacity and values down: the answer is feasible then, and optimal but for
that rounding, less than one part in 2⁶¹ of the sum per item.
"""

from fractions import Fraction
from math import floor

import numpy as np

from coevo.interfaces import Instance
from coevo.problemkit.extras import import_extra

_BITS = 62


def solve_with_ortools(instance: Instance) -> np.ndarray:
    """Ids of an optimal set, ascending, int64.

    Raises:
        ExtraMissingError: If OR-Tools is not installed.
    """
    knapsack_solver = import_extra("ortools.algorithms.python.knapsack_solver", "solvers", "optimal knapsacks")
    capacity, weights = float(instance.data["capacity"]), instance.data["weights"].tolist()
    # The solver overflows on items that cannot be chosen anyway, and does not take an empty problem.
    items = [item for item, weight in enumerate(weights) if weight <= capacity]
    if not items:
        return np.empty(0, dtype=np.int64)
    *sizes, room = _rounded([-weights[item] for item in items] + [capacity])
    profits = _rounded([instance.data["values"][item] for item in items])
    kind = knapsack_solver.SolverType.KNAPSACK_MULTIDIMENSION_BRANCH_AND_BOUND_SOLVER
    solver = knapsack_solver.KnapsackSolver(kind, "kp")
    solver.init(profits, [[-size for size in sizes]], [room])
    solver.solve()
    return np.array([item for place, item in enumerate(items) if solver.best_solution_contains(place)], dtype=np.int64)


def _rounded(numbers: list[float]) -> list[int]:
    """The numbers times one power of two, rounded down: the smallest that makes all whole, if their sum has room."""
    exact = [Fraction(float(number)) for number in numbers]
    needed = max(number.denominator for number in exact).bit_length() - 1
    size = sum(map(abs, exact))
    # The sum is less than 2 to the power of `magnitude`.
    magnitude = size.numerator.bit_length() - size.denominator.bit_length() + 1
    shift = min(needed, _BITS - magnitude)
    return [floor(number * Fraction(2) ** shift) for number in exact]
