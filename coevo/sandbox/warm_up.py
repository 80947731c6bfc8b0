"""Compile what Numba compiles lazily, before it would count against a candidate: with a baseline, which is trusted."""

from collections.abc import Sequence

import numpy as np

from coevo.interfaces import Instance, Problem, Solution
from coevo.sandbox.child import load


def instance_bytes(instance: Instance) -> int:
    """Size of an instance's data in bytes; a number counts as eight."""
    return sum(np.asarray(value).nbytes for value in instance.data.values())


def solve_smallest(problem: Problem, function: str, baseline: str, instances: Sequence[Instance]) -> Solution:
    """Run a baseline on the smallest of the instances; raises whatever it raises."""
    smallest = min(instances, key=instance_bytes)
    return problem.solve(load(function, baseline.encode()), smallest)


def freeze_numba_cache() -> None:
    """Make Numba read its cache folder without asking to write to it: inside, the folder is mounted read-only.

    Call it before the code that says `cache=True` is imported; Numba has no public switch for it.
    """
    from numba.core import caching

    caching._CacheLocator.ensure_cache_path = lambda self: None
    caching.Cache.save_overload = lambda self, signature, data: None
