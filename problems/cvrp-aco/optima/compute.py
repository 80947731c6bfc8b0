"""Compute the best known routes of a split with PyVRP: the shortest of a few searches.

    python problems/cvrp-aco/optima/compute.py test50

writes `test50.npy` beside this file: total lengths in float64, whatever PyVRP rounded. Needs PyVRP. Each search ends
after a number of iterations without improvement (see `coevo.problemkit.solvers`), so that nothing depends on the
machine's speed unless the log says that the time was up.
"""

import argparse
import logging
import time
from pathlib import Path

import numpy as np

from coevo.content import find_problem
from coevo.problemkit.routes import check_routes, join_routes, routes_length
from coevo.problemkit.solvers import pyvrp_routes

HERE = Path(__file__).resolve().parent

logger = logging.getLogger("compute")


def search(instance, seed, limit_s):
    """Total length of the routes of one search."""
    distances, demands, capacity = (instance.data[name] for name in ("distance_matrix", "demands", "capacity"))
    started = time.monotonic()
    routes = pyvrp_routes(distances, demands, capacity, seed=seed, seconds=limit_s)
    if time.monotonic() - started >= limit_s:
        logger.warning("%s, seed %d: the time was up", instance.name, seed)
    return routes_length(distances, check_routes(join_routes(routes), demands, capacity))


def main():
    """Solve every instance of the split named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("split")
    parser.add_argument("--limit-s", type=float, default=120.0, help="longest search, in seconds on the clock")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2], help="of the searches")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    lengths, began = [], time.process_time()
    for instance in find_problem("cvrp-aco").load().instances(arguments.split):
        found = [search(instance, seed, arguments.limit_s) for seed in arguments.seeds]
        lengths.append(min(found))
        logger.info("%s: %s", instance.name, ", ".join(f"{length:.9f}" for length in found))
    np.save(HERE / f"{arguments.split}.npy", np.array(lengths))
    facts = (arguments.split, np.mean(lengths), len(lengths), time.process_time() - began)
    logger.info("%s: mean %.9f over %d instances, %.0f s of CPU time", *facts)


if __name__ == "__main__":
    main()
