"""How long a verdict takes from question to answer, for a candidate that does next to nothing.

    python tests/benchmarks/dispatch.py --problem tsp --repeats 200

One judge, warm; every candidate is new to it. `spaced`: the judge is idle when asked, as while a model writes;
`queued`: the next one is waiting already. CPU is what the candidate's own process used on all instances.
"""

import argparse
import platform
import statistics
import time
from importlib.metadata import version

from coevo.content import find_problem
from coevo.evaluation import EvaluationPool

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
    print("| round | spaced, median ms | 90 % | CPU ms | queued, ms |\n|---|---|---|---|---|")
    with EvaluationPool(folder, workers=1) as pool:
        spaced(pool, code, 5, 0.05)
        for number in range(arguments.rounds):
            clock, cpu = spaced(pool, f"{code}# round {number}\n", arguments.repeats, 0.03)
            each = queued(pool, f"{code}# round {number}\n", arguments.repeats)
            ninety = statistics.quantiles(clock, n=10)[-1]
            row = statistics.median(clock), ninety, statistics.median(cpu), each
            print(f"| {number} | {' | '.join(f'{value:.1f}' for value in row)} |", flush=True)


if __name__ == "__main__":
    main()
