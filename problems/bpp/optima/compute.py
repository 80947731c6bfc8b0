"""Compute the fewest bins of a split's instances, with proof: column generation and rounding, by OR-Tools.

    python problems/bpp/optima/compute.py test500

writes `test500.npy` beside this file. Nothing is random; only the time limit could make two runs differ, and the log
says where it was reached.
"""

import argparse
import logging
import time
from pathlib import Path

import numpy as np

from coevo.content import find_problem
from coevo.problemkit.packing import sum_bound
from coevo.problemkit.packing_solver import prove_packing

logger = logging.getLogger("compute")


def main():
    """Solve every instance of the split named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("split")
    parser.add_argument("--limit-s", type=float, default=120.0, help="longest proof, in seconds on the clock")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    problem = find_problem("bpp").load()
    bins, num_proven, started = [], 0, time.process_time()
    for instance in problem.instances(arguments.split):
        demands, capacity = instance.data["sizes"], instance.data["capacity"]
        proof = prove_packing(demands, capacity, seconds=arguments.limit_s)
        bins.append(problem.objective(instance, proof.packing))
        num_proven += proof.is_complete
        facts = (instance.name, bins[-1], sum_bound(demands, capacity), "" if proof.is_complete else ", OPEN")
        logger.info("%s: %d bins, total size alone needs %d%s", *facts)
    np.save(Path(__file__).resolve().parent / f"{arguments.split}.npy", np.array(bins))
    summary = (arguments.split, np.mean(bins), num_proven, len(bins), time.process_time() - started)
    logger.info("%s: mean %.6f, proven %d of %d, %.0f s of CPU time", *summary)


if __name__ == "__main__":
    main()
