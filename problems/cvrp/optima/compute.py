"""Look for the shortest routes of a split: PyVRP, once for each seed.

    python problems/cvrp/optima/compute.py test50

writes `test50.npy` beside this file. Needs PyVRP. The result depends on nothing but the seeds, as long as no search
reaches the time limit; the log says how many did.
"""

import argparse
import logging
import time
from pathlib import Path

import numpy as np

from coevo.content import find_problem
from coevo.problemkit.routes import join_routes
from coevo.problemkit.solvers import pyvrp_routes

HERE = Path(__file__).resolve().parent

logger = logging.getLogger("compute")


def main():
    """Solve every instance of the split named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("split")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--limit-s", type=float, default=300.0, help="longest search, in seconds of wall time")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    problem = find_problem("cvrp").load()
    found, num_late, started = [], 0, time.process_time()
    for instance in problem.instances(arguments.split):
        lengths = []
        for seed in arguments.seeds:
            begun = time.perf_counter()
            lengths.append(solve(problem, instance, seed, arguments.limit_s))
            num_late += time.perf_counter() - begun >= arguments.limit_s
        found.append(lengths)
        logger.info("%s: %s", instance.name, " ".join(f"{length:.9f}" for length in lengths))
    best = np.min(found, axis=1)
    np.save(HERE / f"{arguments.split}.npy", best)
    hits = np.mean(np.array(found) <= best[:, None] + 1e-9, axis=0)
    summary = (arguments.split, best.mean(), " ".join(f"{hit:.3f}" for hit in hits), num_late)
    logger.info("%s: mean %.9f, share found by each seed %s, out of time %d", *summary)
    logger.info("%.0f s of CPU time", time.process_time() - started)


def solve(problem, instance, seed, limit_s):
    """Length of the routes that one search finds, by the problem's own objective."""
    data = instance.data
    routes = pyvrp_routes(data["distance_matrix"], data["demands"], data["capacity"], seed=seed, seconds=limit_s)
    return problem.objective(instance, join_routes(routes))


if __name__ == "__main__":
    main()
