"""How long a verdict takes from question to answer, for a candidate that does next to nothing.

    python tests/benchmarks/dispatch.py --problem tsp --repeats 200

One judge, warm; every candidate is new to it. `failing` ends at its first call, so that dispatch alone is left;
`spaced` solves all instances, asked while the judge is idle, as while a model writes; `queued` finds the next one
waiting already. CPU is what the process of a spaced candidate used on all instances.
"""

import argparse
import platform
import statistics
import time
from importlib.metadata import version

from coevo.content import find_problem
from coevo.evaluation import EvaluationPool

FAILING = "def {function}(*arguments):\n    raise ValueError\n"
"""Ends at its first call: what is left is dispatch alone."""

TRIVIAL = """
def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    return unvisited_nodes[0]
"""


def spaced(pool: EvaluationPool, code: str, repeats: int, pause_s: float) -> tuple[list[float], list[float]]:
    """Milliseconds on the clock and of CPU, asking only after a pause."""
    clock, cpu = [], []
    for number in range(repeats):
        time.sleep(pause_s)
        started = time.perf_counter()
        verdict = pool.evaluate(f"{code}# spaced {number}\n")
        clock.append(1000 * (time.perf_counter() - started))
        cpu.append(1000 * verdict.cpu_s)
    return clock, cpu


def queued(pool: EvaluationPool, code: str, repeats: int) -> float:
    """Milliseconds on the clock per candidate when all are asked for at once."""
    started = time.perf_counter()
    for future in [pool.submit(f"{code}# queued {number}\n") for number in range(repeats)]:
        future.result()
    return 1000 * (time.perf_counter() - started) / repeats


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problem", default="tsp", help="its alphabetically first baseline is used, but for tsp")
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    folder = find_problem(arguments.problem)
    code = TRIVIAL if arguments.problem == "tsp" else next(iter(folder.baselines().values()))
    print(f"{platform.machine()}, Python {platform.python_version()}, NumPy {version('numpy')}; {arguments}\n")
    print("| round | failing, median ms | spaced, median ms | 90 % | CPU ms | queued, ms |\n|---|---|---|---|---|---|")
    failing = FAILING.format(function=folder.spec.heuristic.function)
    with EvaluationPool(folder, workers=1) as pool:
        spaced(pool, code, 5, 0.05)
        for number in range(arguments.rounds):
            clock, cpu = spaced(pool, f"{code}# round {number}\n", arguments.repeats, 0.03)
            each = queued(pool, f"{code}# round {number}\n", arguments.repeats)
            ninety = statistics.quantiles(clock, n=10)[-1]
            alone, _ = spaced(pool, f"{failing}# round {number}\n", arguments.repeats, 0.03)
            row = statistics.median(alone), statistics.median(clock), ninety, statistics.median(cpu), each
            print(f"| {number} | {' | '.join(f'{value:.1f}' for value in row)} |", flush=True)


if __name__ == "__main__":
    main()
