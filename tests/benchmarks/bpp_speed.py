"""CPU time of the bin-packing construction, compiled and in NumPy, on instances of the search and test splits.

    python tests/benchmarks/bpp_speed.py [--repeats 5] [--instances 3]

Both are given the same matrix, sizes and random numbers, take turns in one process, and must return the same packing.
A time is that of all 200 packings of one instance: the median over the repeats, and the range. Prints a Markdown table.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from plain_bpp import plain_construct

from coevo.content import find_problem, load_module

HEURISTICS = ("large_first", "fillable_gaps", "noise")


def make_matrix(name: str, demands: np.ndarray, capacity: int) -> np.ndarray:
    """The matrix of a baseline, or random numbers, which leave the most to choose from."""
    if name == "noise":
        return np.random.default_rng(0).random((len(demands), len(demands)))
    file = find_problem("bpp").path / "baselines" / f"{name}.py"
    return load_module(file).heuristics(demands, capacity)


def cpu_s(function: Callable[..., np.ndarray], arguments: Sequence[Any]) -> tuple[float, np.ndarray]:
    """CPU seconds of a call, and its result."""
    started = time.process_time()
    result = function(*arguments)
    return time.process_time() - started, result


def compare(
    cases: Sequence[Sequence[Any]], compiled: Callable[..., np.ndarray], repeats: int
) -> dict[str, list[float]]:
    """Seconds per case of both versions, which take turns.

    Raises:
        RuntimeError: If they do not agree.
    """
    seconds: dict[str, list[float]] = {"compiled": [], "NumPy": []}
    for _ in range(repeats):
        for arguments in cases:
            fast, packing = cpu_s(compiled, arguments)
            slow, expected = cpu_s(plain_construct, arguments)
            if not np.array_equal(packing, expected):
                raise RuntimeError("expected the same packing of both versions")
            seconds["compiled"].append(fast)
            seconds["NumPy"].append(slow)
    return seconds


def milliseconds(times: Sequence[float]) -> str:
    """Median and range, in milliseconds."""
    return f"{1000 * statistics.median(times):,.0f} ({1000 * min(times):,.0f} to {1000 * max(times):,.0f})"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--instances", type=int, default=3)
    options = parser.parse_args()
    folder = find_problem("bpp")
    problem = folder.load()
    # By the name under which Numba's cache knows it: another one would spoil the cache for the problem.
    construction = import_module(f"{problem.__name__}.construction")
    lines = ["| items | matrix | compiled, ms | NumPy, ms | ratio of medians |", "|---|---|---|---|---|"]
    for split in ("test120", "search", "test1000"):
        for name in HEURISTICS:
            cases = []
            for instance in problem.instances(split)[: options.instances]:
                demands, capacity = instance.data["sizes"], instance.data["capacity"]
                uniforms = np.random.default_rng(instance.seed).random((construction.NUM_CONSTRUCTIONS, len(demands)))
                weights = construction.normalised(make_matrix(name, demands, capacity))
                cases.append((weights, demands.copy(), capacity, uniforms))
            construction.pack(*cases[0])
            seconds = compare(cases, construction.pack, options.repeats)
            ratio = statistics.median(seconds["NumPy"]) / statistics.median(seconds["compiled"])
            size, fast, slow = len(cases[0][1]), milliseconds(seconds["compiled"]), milliseconds(seconds["NumPy"])
            lines.append(f"| {size} | {name} | {fast} | {slow} | {ratio:.0f} |")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
