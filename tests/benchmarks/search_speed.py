"""How fast a search is, and what ES costs: the same search with and without ES, alternately, in one process.

    python tests/benchmarks/search_speed.py --budget 400 --repeats 3

Rates are completions per second between the first request and the end of the last generation, evaluation included and
start-up (loading the model, starting the sandboxes) left out; they are read from the runs' own events.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median

import coevo
from coevo.records.event_log import read_events

ARMS = {"frozen": {"es": "off"}, "dense": {"es": "dense"}}


def seconds(run: str) -> float:
    """Wall time from the first request to the end of the last generation."""
    events = list(read_events(Path(run) / "events.jsonl"))
    first = next(event for event in events if event["kind"] == "asked")
    last = [event for event in events if event["kind"] == "generation"][-1]
    return last["clock"]["time"] - first["clock"]["time"]


def say(text: str) -> None:
    """One line of the report."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    """Alternate the arms and print each run, the medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problem", default="tsp")
    parser.add_argument("--budget", type=int, default=400)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    times = {arm: [] for arm in ARMS}
    for seed in range(options.repeats):
        for arm, settings in ARMS.items():
            with tempfile.TemporaryDirectory() as folder:
                result = coevo.search(options.problem, budget=options.budget, runs_dir=folder, seed=seed, **settings)
                times[arm].append(seconds(result.run))
            rate = options.budget / times[arm][-1]
            say(f"{arm} seed {seed}: {times[arm][-1]:.1f} s, {rate:.1f} completions/s, whole run {result.wall_s:.1f} s")
    medians = {arm: median(values) for arm, values in times.items()}
    say(f"median frozen {options.budget / medians['frozen']:.1f} completions/s")
    say(f"median dense / frozen wall time {medians['dense'] / medians['frozen']:.2f}")


if __name__ == "__main__":
    main()
