"""Compute the shortest tours of a split: branch and cut, from the tour of farthest insertion.

    python problems/tsp/optima/compute.py test50

writes `test50.npy` beside this file. Needs OR-Tools. Nothing is random; only the time limit of a proof could make two
runs differ, and the log says where it was reached.
"""

import argparse
import logging
import time
from pathlib import Path

import numpy as np

from coevo.content import find_problem, load_module

HERE = Path(__file__).resolve().parent

logger = logging.getLogger("compute")


def main():
    """Solve every instance of the split named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("split")
    parser.add_argument("--limit-s", type=float, default=600.0, help="longest proof, in seconds of CPU time")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    instances = find_problem("tsp").load().instances(arguments.split)
    compute(instances, HERE / f"{arguments.split}.npy", limit_s=arguments.limit_s)


def compute(instances, file, *, limit_s):
    """Solve instances that have a `distance_matrix`, and write the lengths of their shortest tours to a file."""
    problem = find_problem("tsp").load()
    construct = problem.classics()["farthest insertion"]
    prove = load_module(HERE / "branch_and_cut.py").prove
    lengths, num_proven, started = [], 0, time.process_time()
    for instance in instances:
        proof = prove(instance.data["distance_matrix"], construct(instance), limit_s=limit_s)
        lengths.append(problem.objective(instance, proof.tour))
        num_proven += proof.complete
        facts = (instance.name, lengths[-1], proof.root_bound, proof.num_nodes, "" if proof.complete else ", OPEN")
        logger.info("%s: %.9f, root bound %.9f, %d nodes%s", *facts)
    np.save(file, np.array(lengths))
    summary = (file.stem, np.mean(lengths), num_proven, len(lengths), time.process_time() - started)
    logger.info("%s: mean %.9f, proven %d of %d, %.0f s of CPU time", *summary)


if __name__ == "__main__":
    main()
