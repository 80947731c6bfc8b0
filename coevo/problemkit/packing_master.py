"""The linear program of column generation for bin packing, solved by OR-Tools' GLOP and extended pattern by pattern."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.problemkit.extras import import_extra

IntArray = NDArray[np.int64]

PURPOSE = "the solver of packings"
"""What OR-Tools is needed for, where it is missing."""


class Master:
    """The linear program over patterns: use as few as cover the counts.

    Args:
        fill: How many items of each width alone fill a bin, or as many as there are; these are the first patterns.
    """

    def __init__(self, fill: list[int]):
        builder = import_extra("ortools.linear_solver.python.model_builder", "solvers", PURPOSE)
        self._model = builder.Model()
        self._solver = builder.Solver("GLOP")
        self.patterns = list(np.diag(np.array(fill, dtype=np.int64)))
        self._known = {pattern.tobytes() for pattern in self.patterns}
        self._usage = [self._new_usage() for _ in fill]
        self._rows = [
            self._model.add_linear_constraint(copies * usage, lb=0.0)
            for copies, usage in zip(fill, self._usage, strict=True)
        ]
        for single in np.eye(len(fill), dtype=np.int64):
            self.add(single)

    def add(self, pattern: IntArray) -> bool:
        """Add a pattern; return whether it is new."""
        if pattern.tobytes() in self._known:
            return False
        self._known.add(pattern.tobytes())
        self.patterns.append(pattern)
        usage = self._new_usage()
        self._usage.append(usage)
        for row, copies in zip(self._rows, pattern.tolist(), strict=True):
            if copies:
                row.set_coefficient(usage, copies)
        return True

    def solve(self, counts: IntArray) -> tuple[list[float], NDArray[np.float64]]:
        """How often each pattern is used, and the dual value of each width."""
        for row, count in zip(self._rows, counts.tolist(), strict=True):
            row.lower_bound = float(count)
        for pattern, usage in zip(self.patterns, self._usage, strict=True):
            usage.upper_bound = 0.0 if np.any(pattern > counts) else np.inf
        self._solver.solve(self._model)
        usage = [float(self._solver.value(variable)) for variable in self._usage]
        return usage, np.array([self._solver.dual_value(row) for row in self._rows])

    def _new_usage(self) -> Any:
        variable = self._model.new_num_var(0.0, np.inf, "")
        variable.objective_coefficient = 1.0
        return variable
