"""The jobs of a working day: a complete small problem to start from; replace it function by function.

`coevo/interfaces.py` says what each function promises and what else a problem may have, e.g. `reference` for gaps.
"""

import operator

import numpy as np
from numpy.typing import NDArray

from coevo.errors import Infeasible
from coevo.interfaces import Heuristic, Instance, Solution

FloatArray = NDArray[np.float64]
HOURS = 8.0
SPLITS = {"search": (16, 40), "val": (16, 40), "test": (16, 80)}


def instances(split: str) -> list[Instance]:
    """The instances of a split: the same in every process, with a name, a seed of its own, and numbers or arrays."""
    count, jobs = SPLITS[split]
    first = 1000 * list(SPLITS).index(split)
    return [_instance(f"{split}-{n}", first + n, jobs) for n in range(count)]


def _instance(name: str, seed: int, jobs: int) -> Instance:
    rng = np.random.default_rng(seed)
    durations = rng.uniform(0.25, 4.0, jobs)
    return Instance(name, seed, {"durations": durations, "values": durations * rng.uniform(0.5, 1.5, jobs)})


def _arrays(instance: Instance) -> tuple[FloatArray, FloatArray]:
    return np.asarray(instance.data["durations"]), np.asarray(instance.data["values"])


def solve(heuristic: Heuristic, instance: Instance) -> Solution:
    """Let the heuristic choose jobs until none fits. Runs in the sandbox: what it returns is a claim, not a fact."""
    durations, values = _arrays(instance)
    open_jobs, hours_left, done = np.arange(len(durations)), HOURS, []
    while (durations[open_jobs] <= hours_left).any():
        # Indexed by an array, each is a copy: whatever the heuristic does to it, the instance stays as it is.
        position = operator.index(heuristic(hours_left, durations[open_jobs], values[open_jobs]))
        if not 0 <= position < len(open_jobs):
            raise Infeasible(f"expected a position from 0 to {len(open_jobs) - 1}, got {position}")
        done.append(open_jobs[position])
        hours_left -= durations[open_jobs[position]]
        open_jobs = np.delete(open_jobs, position)
    return np.array(done, dtype=np.int64)


def objective(instance: Instance, solution: Solution) -> float:
    """Total value of the jobs done. Trusted, and given any array at all: refuse whatever is no solution."""
    durations, values = _arrays(instance)
    jobs = len(durations)
    if solution.ndim != 1 or solution.dtype.kind not in "iu":
        raise Infeasible(f"expected a 1-D array of job numbers, got {solution.dtype} of shape {solution.shape}")
    if ((solution < 0) | (solution >= jobs)).any() or len(np.unique(solution)) < len(solution):
        raise Infeasible(f"expected different job numbers from 0 to {jobs - 1}, got {solution.tolist()}")
    if (hours := durations[solution].sum()) > HOURS + 1e-9:
        raise Infeasible(f"the jobs take {hours:.2f} hours, the day has {HOURS:.0f}")
    return float(values[solution].sum())
