"""Compute the optima of every split by branch and bound, and compare them with OR-Tools' where that is installed.

    python problems/kp/optima/compute.py

writes `<split>.npy` beside this file. Nothing is random.
"""

import logging
import time
from pathlib import Path

import numpy as np

from coevo.content import find_problem, load_module
from coevo.errors import ExtraMissingError

HERE = Path(__file__).resolve().parent

logger = logging.getLogger("compute")


def main():
    """Solve every instance of every split."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    problem = find_problem("kp").load()
    solve_exactly = load_module(HERE / "branch_and_bound.py").solve_exactly
    for split in problem.SPLITS:
        instances, started = problem.instances(split), time.process_time()
        sets = [solve_exactly(each.data["capacity"], each.data["weights"], each.data["values"]) for each in instances]
        seconds = time.process_time() - started
        optima = np.array([problem.objective(each, items) for each, items in zip(instances, sets, strict=True)])
        np.save(HERE / f"{split}.npy", optima)
        logger.info("%s: mean %.6f, %.1f s of CPU time, %s", split, optima.mean(), seconds, agreement(problem, split))


def agreement(problem, split):
    """How far the stored optima of a split are from those of OR-Tools at most."""
    solve = problem.solvers()["ortools"]
    try:
        found = [problem.objective(each, solve(each)) for each in problem.instances(split)]
    except ExtraMissingError as error:
        return f"not compared: {error}"
    return f"at most {np.abs(np.array(found) - problem.reference(split)).max():.1e} from OR-Tools"


if __name__ == "__main__":
    main()
