"""Compute the shortest tours of a split: branch and cut, that of the problem tsp, from the tour of farthest insertion.

    python problems/tsp-aco/optima/compute.py test50

writes `test50.npy` beside this file. Needs OR-Tools. Nothing is random; only the time limit of a proof could make two
runs differ, and the log says where it was reached.
"""

import argparse
import logging
from pathlib import Path

from coevo.content import find_problem, load_module

HERE = Path(__file__).resolve().parent


def main():
    """Solve every instance of the split named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("split")
    parser.add_argument("--limit-s", type=float, default=600.0, help="longest proof, in seconds of CPU time")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    tours = load_module(find_problem("tsp").path / "optima" / "compute.py")
    instances = find_problem("tsp-aco").load().instances(arguments.split)
    tours.compute(instances, HERE / f"{arguments.split}.npy", limit_s=arguments.limit_s)


if __name__ == "__main__":
    main()
