"""Speed of the greedy for admissible sets: the kernel, plain loops and vectorised NumPy, in turn in one process.

    python tests/benchmarks/asp_speed.py [--rounds 5] [--loops-up-to 15-10] [--baseline constant]

Each time is CPU seconds for all calls of the priority plus the greedy, the best of the rounds; the first call of each,
which compiles or allocates, is not counted. The kernel's time is that of the problem's own `solve` and `objective`,
with every check. Prints Markdown. Peak memory is that of a fresh process that evaluates one instance.
"""

import argparse
import math
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from coevo.content import find_problem, load_module

PLAIN = load_module(Path(__file__).with_name("plain_asp.py"))
SPLITS = ("12-7", "search", "21-15", "24-17")
NUMPY_UP_TO = "21-15"
"""Largest instance for NumPy: beyond, its arrays of pairs by children take gigabytes."""


def versions(split: str, priority: Callable[..., float]) -> dict[str, Callable[[], float]]:
    """Functions that return the size of the set at a split, by the name of the way they find it."""
    problem: Any = find_problem("asp").load()
    (instance,) = problem.instances(split)
    children = PLAIN.children(instance.data["n"], instance.data["w"])
    vectors = [tuple(vector) for vector in instance.data["vectors"].tolist()]

    def with_kernel() -> float:
        return float(problem.objective(instance, problem.solve(priority, instance)))

    def plainly(choose: Callable[..., list[int]]) -> float:
        scores = [float(priority(vector, instance.data["n"], instance.data["w"])) for vector in vectors]
        return float(PLAIN.size([children[row] for row in choose(children, scores)]))

    return {
        "kernel": with_kernel,
        "NumPy": lambda: plainly(PLAIN.choose_with_numpy),
        "loops": lambda: plainly(PLAIN.choose_with_loops),
    }


def measure(ways: dict[str, Callable[[], float]], rounds: int) -> tuple[float, dict[str, float]]:
    """The size, on which all agree, and the best CPU seconds of each way; they take turns."""
    best = dict.fromkeys(ways, math.inf)
    sizes = {ways["kernel"]()}
    for _ in range(rounds):
        for name, find in ways.items():
            start = time.process_time()
            sizes.add(find())
            best[name] = min(best[name], time.process_time() - start)
    if len(sizes) > 1:
        raise SystemExit(f"expected one size from all versions, got {sorted(sizes)}")
    return sizes.pop(), best


def peak_memory_mb(split: str, baseline: str) -> float:
    """Peak resident memory of a fresh process that evaluates the instance of a split, in MB."""
    command = [sys.executable, __file__, "--memory", split, "--baseline", baseline]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def evaluate_and_report(split: str, priority: Callable[..., float]) -> None:
    """What that fresh process does."""
    problem: Any = find_problem("asp").load()
    (instance,) = problem.instances(split)
    problem.objective(instance, problem.solve(priority, instance))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)


def row(split: str, options: argparse.Namespace, priority: Callable[..., float]) -> str:
    """One line of the table."""
    ways = versions(split, priority)
    if SPLITS.index(split) > SPLITS.index(NUMPY_UP_TO):
        del ways["NumPy"]
    if SPLITS.index(split) > SPLITS.index(options.loops_up_to):
        del ways["loops"]
    size, best = measure(ways, options.rounds)
    cells = [f"{best[name]:.4f}" if name in best else "" for name in ("kernel", "NumPy", "loops")]
    cells += [f"{best[name] / best['kernel']:.0f}" if name in best else "" for name in ("NumPy", "loops")]
    return f"| {split} | {size:.0f} | {' | '.join(cells)} | {peak_memory_mb(split, options.baseline):.0f} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--loops-up-to", choices=SPLITS, default="search", help="loops take minutes on 21-15")
    parser.add_argument("--splits", nargs="+", choices=SPLITS, default=SPLITS)
    parser.add_argument("--baseline", default="constant", help="name of the heuristic file in problems/asp/baselines")
    parser.add_argument("--memory", choices=SPLITS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    priority = load_module(find_problem("asp").path / "baselines" / f"{options.baseline}.py").priority
    if options.memory:
        evaluate_and_report(options.memory, priority)
        return
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba"))
    print(f"Priority: {options.baseline}. Python {platform.python_version()}, {packages}.\n")
    print("| split | size | kernel (s) | NumPy (s) | loops (s) | NumPy / kernel | loops / kernel | peak (MB) |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for split in options.splits:
        print(row(split, options, priority), flush=True)


if __name__ == "__main__":
    main()
