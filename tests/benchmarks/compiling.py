"""Would it pay to compile heuristics with Numba? Compile time against what a call saves, and the calls there are.

    python tests/benchmarks/compiling.py [--problems asp kp] [--candidates RUN/candidates]

For every baseline of every problem, or for the programs in a run's `candidates` folder with `--candidates` and one
problem: CPU seconds per call as plain Python and compiled, CPU seconds to compile (Numba and LLVM warmed up before),
the calls after which compiling has paid, and the calls on the instances of the search split. A program that Numba's
nopython mode does not take is marked "no". Prints Markdown.
"""

import argparse
import math
import time
import warnings
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np

from coevo.content import ProblemFolder, load_module, problem_paths, read_problem

Arguments = tuple[Any, ...]
LOOKED_AT = 200
"""Calls of the first instance whose arguments are kept for timing."""
AT_LEAST_S = 0.05
"""How long a timing repeats those calls."""


@dataclass(frozen=True)
class Costs:
    """Of one program; `compile_s` is None if Numba does not take it, with the reason in `refusal`."""

    plain_s: float
    compiled_s: float = math.inf
    compile_s: float | None = None
    refusal: str = ""

    @property
    def break_even(self) -> float:
        """Calls after which compiling has paid; infinite if it never does."""
        gain = self.plain_s - self.compiled_s
        return math.inf if self.compile_s is None or gain <= 0 else self.compile_s / gain


def record_calls(folder: ProblemFolder, heuristic: Callable[..., Any]) -> tuple[list[Arguments], int]:
    """Arguments of the first calls, and how often the whole search split calls a heuristic."""
    problem: Any = folder.load()
    kept, count = list[Arguments](), 0

    def counting(*arguments: Any) -> Any:
        nonlocal count
        count += 1
        if len(kept) < LOOKED_AT:
            kept.append(tuple(copy(argument) for argument in arguments))
        return heuristic(*arguments)

    instances = problem.instances("search")
    for instance in instances[:4]:
        problem.solve(counting, instance)
    return kept, round(count * len(instances) / len(instances[:4]))


def time_call(function: Callable[..., Any], calls: list[Arguments]) -> float:
    """CPU seconds per call, the best of three timings."""
    best = math.inf
    for _ in range(3):
        start, count = time.process_time(), 0
        while time.process_time() - start < AT_LEAST_S:
            for arguments in calls:
                function(*arguments)
            count += len(calls)
        best = min(best, (time.process_time() - start) / count)
    return best


def measure(function: Callable[..., Any], calls: list[Arguments]) -> Costs:
    """Costs of one program over recorded calls."""
    plain_s = time_call(function, calls)
    compiled = numba.njit(function)
    start = time.process_time()
    try:
        compiled(*calls[0])
    except Exception as error:
        return Costs(plain_s, refusal=type(error).__name__)
    compile_s = time.process_time() - start
    return Costs(plain_s, time_call(compiled, calls), compile_s)


def programs(folder: ProblemFolder, candidates: Path | None) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Baselines, or the programs of a run that answer the recorded calls."""
    for file in sorted((candidates or folder.path / "baselines").glob("*.py")):
        try:
            yield file.stem, getattr(load_module(file), folder.spec.heuristic.function)
        except Exception:
            if candidates is None:
                raise


def row(folder: ProblemFolder, name: str, costs: Costs, num_calls: int) -> str:
    """One line of the table."""
    cells = [folder.spec.name, name, f"{costs.plain_s * 1e6:.1f}"]
    if costs.compile_s is None:
        return f"| {' | '.join([*cells, 'no', costs.refusal, '', f'{num_calls:,}'])} |"
    cells += [f"{costs.compiled_s * 1e6:.1f}", f"{costs.compile_s:.2f}"]
    return f"| {' | '.join([*cells, f'{costs.break_even:,.0f}', f'{num_calls:,}'])} |"


def report(folder: ProblemFolder, candidates: Path | None) -> None:
    """Measure and print the programs of one problem."""
    baseline = next(iter(programs(folder, None)))[1]
    calls, num_calls = record_calls(folder, baseline)
    found = list[Costs]()
    for name, function in programs(folder, candidates):
        try:
            found.append(measure(function, calls))
        except Exception:
            if candidates is None:
                raise
            continue
        print(row(folder, name, found[-1], num_calls), flush=True)
    if candidates is not None and found:
        compiled = [costs for costs in found if costs.compile_s is not None]
        paying = sum(costs.break_even < num_calls for costs in compiled)
        middle = f"{np.median([costs.break_even for costs in compiled]):,.0f}" if compiled else "none"
        print(
            f"\n{len(compiled)} of {len(found)} programs compile; median break-even {middle} calls; "
            f"compiling pays on the search split for {paying}"
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", help="names; all by default")
    parser.add_argument("--candidates", type=Path, help="folder of a run's programs; needs one problem")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    numba.njit(lambda x: x.sum())(np.zeros(3))
    print("| problem | program | plain (µs/call) | compiled (µs/call) | compile (s) | break-even (calls) | calls |")
    print("|---|---|---|---|---|---|---|")
    for path in problem_paths():
        if options.problems is None or path.name in options.problems:
            with np.errstate(all="ignore"):
                report(read_problem(path), options.candidates)


if __name__ == "__main__":
    main()
