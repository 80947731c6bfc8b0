"""What one evaluation costs against the size of the instance, for every bundled problem.

    python tests/benchmarks/scaling.py --repeats 3 --plot runs/results/scaling.svg

CPU time of `solve` with the problem's first baseline, and of `objective` on its solution, in one process, kernels
compiled before: the least of the repeats. The exponent is the slope of a line through the three largest sizes, on
logarithms.
"""

import argparse
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

from coevo.content import ProblemFolder, find_problem, load_module
from coevo.interfaces import Instance
from coevo.problemkit.tours import distance_matrix

Make = Callable[[int, np.random.Generator], dict]


@dataclass(frozen=True)
class Row:
    """Seconds of CPU for one size."""

    size: int
    solve_s: float
    objective_s: float


def points(n: int, rng: np.random.Generator) -> dict:
    """Uniform in the unit square."""
    drawn = rng.random((n, 2))
    return {"coordinates": drawn, "distance_matrix": distance_matrix(drawn)}


def customers(n: int, rng: np.random.Generator) -> dict:
    """Customers and a depot; a vehicle serves about ten."""
    demands = np.concatenate([[0], rng.integers(1, 10, n)])
    return {**points(n + 1, rng), "demands": demands, "capacity": 50}


def items(n: int, rng: np.random.Generator) -> dict:
    """Weights and values uniform, a quarter of the weight fits."""
    return {"weights": rng.random(n), "values": rng.random(n), "capacity": n / 8}


def demands(n: int, rng: np.random.Generator) -> dict:
    """Sizes for bins of 150."""
    return {"sizes": rng.integers(20, 101, n), "capacity": 150}


def stream(n: int, rng: np.random.Generator) -> dict:
    """Sizes for bins of 100, one after the other."""
    return {"sizes": np.clip(np.rint(45 * rng.weibull(3, n)), 1, 100).astype(np.int64), "capacity": 100}


MAKERS: dict[str, tuple[Make, tuple[int, ...]]] = {
    "tsp": (points, (20, 50, 100, 200, 500, 1000)),
    "cvrp": (customers, (20, 50, 100, 200, 500, 1000)),
    "kp": (items, (50, 100, 200, 500, 1000, 2000)),
    "bpp-online": (stream, (250, 500, 1000, 2000, 5000)),
    "tsp-aco": (points, (20, 50, 100, 200, 500)),
    "cvrp-aco": (customers, (20, 50, 100, 200, 500)),
    "bpp": (demands, (120, 250, 500, 1000)),
}
ADMISSIBLE = ((9, 6), (12, 7), (15, 10), (18, 12), (21, 15), (24, 17))
"""Sets of admissible vectors have no size to choose; these are rows of increasing length."""


def instances(name: str, folder: ProblemFolder) -> list[tuple[int, Instance]]:
    """Instances of increasing size; for admissible sets the size is the number of vectors to score."""
    if name == "asp":
        made = [folder.load().make_instance(n, w) for n, w in ADMISSIBLE]
        return [(len(each.data["vectors"]), each) for each in made]
    make, sizes = MAKERS[name]
    return [(n, Instance(str(n), n, make(n, np.random.default_rng(n)))) for n in sizes]


def measure(name: str, repeats: int) -> list[Row]:
    """One row per size."""
    folder = find_problem(name)
    problem = folder.load()
    file = folder.path / "baselines" / f"{next(iter(folder.baselines()))}.py"
    heuristic = getattr(load_module(file), folder.spec.heuristic.function)
    rows = []
    for size, instance in instances(name, folder):
        problem.objective(instance, problem.solve(heuristic, instance))
        times = []
        for _ in range(repeats):
            started = time.process_time()
            solution = problem.solve(heuristic, instance)
            solved = time.process_time()
            problem.objective(instance, solution)
            times.append((solved - started, time.process_time() - solved))
        rows.append(Row(size, *(min(column) for column in zip(*times, strict=True))))
    return rows


def exponent(rows: list[Row]) -> float:
    """Slope of log time over log size at the large end."""
    x, y = np.log([[row.size, row.solve_s + row.objective_s] for row in rows[-3:]]).T
    return float(np.polyfit(x, y, 1)[0])


def plot(table: dict[str, list[Row]], file: Path) -> None:
    """All problems in one picture with logarithmic axes."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "scaling"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 5), layout="constrained")
    for (name, rows), marker in zip(table.items(), "osD^vP*X", strict=True):
        seconds = [1000 * (row.solve_s + row.objective_s) for row in rows]
        axes.loglog([row.size for row in rows], seconds, marker=marker, label=name)
    axes.set(xlabel="size (nodes, customers, items or vectors)", ylabel="CPU ms per evaluation of one instance")
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend()
    figure.savefig(file, metadata={"Date": None})


def main() -> None:
    """Print a Markdown table and draw it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--problems", nargs="*", default=[*MAKERS, "asp"])
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba"))
    print(f"{platform.machine()}, Python {platform.python_version()}, {libraries}, {arguments.repeats} repeats\n")
    print("| problem | size | solve, ms | objective, ms |\n|---|---|---|---|")
    table = {}
    for name in arguments.problems:
        table[name] = measure(name, arguments.repeats)
        for row in table[name]:
            print(f"| {name} | {row.size} | {1000 * row.solve_s:.3f} | {1000 * row.objective_s:.3f} |", flush=True)
    print("\n| problem | exponent |\n|---|---|")
    for name, rows in table.items():
        print(f"| {name} | {exponent(rows):.2f} |")
    if arguments.plot:
        plot(table, arguments.plot)


if __name__ == "__main__":
    main()
