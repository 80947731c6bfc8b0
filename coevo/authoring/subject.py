"""A problem under check, loaded in this process: what the checks that run its code share, each part made once."""

import hashlib
import random
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coevo.content import ProblemFolder
from coevo.interfaces import Heuristic, Instance, Problem, Solution
from coevo.sandbox.child import load
from coevo.sandbox.warm_up import instance_bytes

LOOKED_AT = 4
"""Instances of a split that are solved here; the sandbox solves all."""


@dataclass
class Subject:
    """A problem folder whose code runs in this process.

    Args:
        folder: The folder.
        deadline_s: What a part of a check that runs elsewhere may take on the clock.
    """

    folder: ProblemFolder
    deadline_s: float

    @cached_property
    def problem(self) -> Problem:
        """Its module."""
        return self.folder.load()

    @cached_property
    def splits(self) -> dict[str, list[Instance]]:
        """All instances, by split."""
        return {split: list(self.problem.instances(split)) for split in self.folder.spec.splits}

    @cached_property
    def heuristics(self) -> dict[str, Heuristic]:
        """The baselines as functions, by name."""
        function = self.folder.spec.heuristic.function
        return {name: load(function, code.encode()) for name, code in self.folder.baselines().items()}

    @cached_property
    def examples(self) -> list[tuple[Instance, Solution]]:
        """A few instances of the search split, smallest first, each with the first baseline's solution."""
        heuristic = next(iter(self.heuristics.values()))
        few = sorted(self.splits["search"], key=instance_bytes)[:LOOKED_AT]
        return [(instance, self.solve(heuristic, instance)) for instance in few]

    @cached_property
    def smallest(self) -> tuple[str, int]:
        """Split and place of the smallest instance of all."""
        places = [(split, place) for split, instances in self.splits.items() for place in range(len(instances))]
        return min(places, key=lambda at: instance_bytes(self.splits[at[0]][at[1]]))

    @property
    def uses_numba(self) -> bool:
        """Whether the problem's code has loaded Numba."""
        return self.problem is not None and "numba" in sys.modules

    def solve(self, heuristic: Heuristic, instance: Instance) -> Solution:
        """The heuristic's solution, with the global generators seeded as the sandbox does."""
        random.seed(instance.seed)
        np.random.seed(instance.seed % 2**32)  # noqa: NPY002 - heuristics use the global generator
        return np.asarray(self.problem.solve(heuristic, instance))

    def cost(self, instance: Instance, solution: Solution) -> float:
        """Cost of a solution, minimised; raises what `objective` raises."""
        return self.folder.sign() * float(self.problem.objective(instance, solution))


def digest(instances: Iterable[Instance]) -> str:
    """SHA-256 of names, seeds and data, in order: equal only if everything is equal bit for bit."""
    state = hashlib.sha256()
    for instance in instances:
        state.update(f"{instance.name}\0{instance.seed}\0{content(instance)}\0".encode())
    return state.hexdigest()


def content(instance: Instance) -> str:
    """SHA-256 of an instance's data alone."""
    state = hashlib.sha256()
    for key, value in sorted(instance.data.items()):
        array = np.asarray(value)
        state.update(f"{key}\0{array.dtype.str}\0{array.shape}\0".encode() + np.ascontiguousarray(array).tobytes())
    return state.hexdigest()
