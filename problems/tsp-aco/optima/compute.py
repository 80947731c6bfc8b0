"""Compute the shortest tours of a split: branch and cut, that of the problem tsp, from the tour of farthest insertion.

    python problems/tsp-aco/optima/compute.py test50

writes `test50.npy` beside this file. Needs OR-Tools. Nothing is random; only the time limit of a proof could make two
runs differ, and the log says where it was reached.
"""

import argparse
import logging
import time
from pathlib import Path

import numpy as np

from coevo.content import find_problem, load_module
from coevo.problemkit.tours import check_tour, tour_length

HERE = Path(__file__).resolve().parent

logger = logging.getLogger("compute")


def main():
    """Solve every instance of the split named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("split")
    parser.add_argument("--limit-s", type=float, default=600.0, help="longest proof, in seconds of CPU time")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    tsp = find_problem("tsp")
    construct = tsp.load().classics()["farthest insertion"]
    prove = load_module(tsp.path / "optima" / "branch_and_cut.py").prove
    lengths, num_proven, started = [], 0, time.process_time()
    for instance in find_problem("tsp-aco").load().instances(arguments.split):
        distances = instance.data["distance_matrix"]
        proof = prove(distances, construct(instance), limit_s=arguments.limit_s)
        lengths.append(tour_length(distances, check_tour(proof.tour, len(distances))))
        num_proven += proof.complete
        facts = (instance.name, lengths[-1], proof.root_bound, proof.num_nodes, "" if proof.complete else ", OPEN")
        logger.info("%s: %.9f, root bound %.9f, %d nodes%s", *facts)
    np.save(HERE / f"{arguments.split}.npy", np.array(lengths))
    summary = (arguments.split, np.mean(lengths), num_proven, len(lengths), time.process_time() - started)
    logger.info("%s: mean %.9f, proven %d of %d, %.0f s of CPU time", *summary)


if __name__ == "__main__":
    main()
