"""Speed of the ant colony against the same algorithm in plain Python and in torch (`plain_aco.py`).

    python tests/benchmarks/aco_speed.py [--instances 2] [--repeats 5]

One colony is 30 ants and 100 iterations on an instance of `val`, with the weights of the baseline `steep_closeness` or
`heavy_together`. The three versions take turns in one process, on one thread, so that what else the machine does falls
on all alike; times are CPU seconds, and a ratio is formed within a turn. Compilation is not counted: the judge has it
done before the first candidate.
"""

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from coevo.content import find_problem, load_module
from coevo.interfaces import Instance
from coevo.problemkit import colony

Run = Callable[[], Any]

BASELINES = {"tsp-aco": "steep_closeness", "cvrp-aco": "heavy_together"}


def versions_of(problem: str, instance: Instance, weights: Any) -> dict[str, Run]:
    """The three versions, ready to be called on one instance; compiled first."""
    plain = load_module(Path(__file__).parent / "plain_aco.py")
    data = instance.data
    if problem == "tsp-aco":
        arguments: tuple[Any, ...] = (data["distance_matrix"], weights, instance.seed)
        functions = (colony.shortest_tour, plain.plain_tour, plain.torch_tour)
    else:
        arguments = (data["distance_matrix"], weights, data["demands"], int(data["capacity"]), instance.seed)
        functions = (colony.cheapest_routes, plain.plain_routes, plain.torch_routes)
    names = ("compiled", "plain Python", "torch")
    return {name: lambda f=function: f(*arguments) for name, function in zip(names, functions, strict=True)}


def time_s(run: Run, calls: int) -> float:
    """CPU seconds of one call, the mean of some."""
    start = time.process_time()
    for _ in range(calls):
        run()
    return (time.process_time() - start) / calls


def measure(problem: str, instances: int, repeats: int) -> dict[str, list[float]]:
    """CPU seconds per colony of each version, one value per instance and repeat."""
    folder = find_problem(problem)
    module: Any = folder.load()
    file = folder.path / "baselines" / f"{BASELINES[problem]}.py"
    heuristic = getattr(load_module(file), folder.spec.heuristic.function)
    times: dict[str, list[float]] = {}
    for instance in module.instances("val")[:instances]:
        weights = colony.check_weights(module.solve(heuristic, instance), len(instance.data["distance_matrix"]))
        runs = versions_of(problem, instance, weights)
        runs["compiled"]()
        for _ in range(repeats):
            for name, run in runs.items():
                times.setdefault(name, []).append(time_s(run, 20 if name == "compiled" else 1))
    return times


def spread(values: Sequence[float], digits: int = 1) -> str:
    """Median and range."""
    return f"{statistics.median(values):,.{digits}f} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


def table(problem: str, times: dict[str, list[float]]) -> list[str]:
    """Rows of the result, one per version."""
    rows = []
    for name, values in times.items():
        ratios = [value / base for value, base in zip(values, times["compiled"], strict=True)]
        rows.append(f"| {problem} | {name} | {spread([1e3 * v for v in values])} | {spread(ratios, 0)} |")
    return rows


def report(line: str) -> None:
    """One line of the result."""
    print(line, flush=True)


def main() -> None:
    """Measure and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    report("| problem | version | ms per colony: median (range) | times the compiled one: median (range) |")
    report("|---|---|---|---|")
    for problem in BASELINES:
        for row in table(problem, measure(problem, options.instances, options.repeats)):
            report(row)
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "torch"))
    report(
        f"\n{options.instances} instances, {options.repeats} repeats; Python {platform.python_version()}, {packages}"
    )
    report(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
