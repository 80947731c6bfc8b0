"""What it is worth that children are evaluated while others are still being written.

    python tests/benchmarks/overlap.py --budget 500 --repeats 3

The same search with and without overlap, alternately, in one process. Without it, a batch's answers are handed on
together, once the last of them is there. Both arms must record the same story but for the clock, which is checked. With
`--spacing S`, answers are handed on S seconds apart, as from a server that shares no core with the evaluators.

Seconds are wall time from the first request to the end of the last generation, read from the runs' own events.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from search_speed import say, seconds

import coevo
from coevo.records.event_log import read_events
from coevo.searching import assemble

ARMS = ("with", "without")


class HeldEngine:
    """An engine whose answers are handed on at other times than they come; nothing else is changed."""

    def __init__(self, engine: Any, *, gathers: bool, spacing: float) -> None:
        self._engine, self._gathers, self._spacing = engine, gathers, spacing
        self.commit, self.fingerprint = engine.commit, engine.fingerprint
        self.export, self.close = engine.export, engine.close

    def generate(self, requests: Any) -> Iterator[Any]:
        """See `Engine`."""
        answers = self._spaced(requests)
        yield from list(answers) if self._gathers else answers

    def _spaced(self, requests: Any) -> Iterator[Any]:
        for completion in self._engine.generate(requests):
            time.sleep(self._spacing)
            yield completion


def measured(options: argparse.Namespace, arm: str, seed: int) -> tuple[float, list[dict[str, Any]]]:
    """Seconds of one search, and its story without the clock."""
    start = assemble.start_model

    def held(config: Any, problem: Any) -> Any:
        model = start(config, problem)
        return replace(model, engine=HeldEngine(model.engine, gathers=arm == "without", spacing=options.spacing))

    assemble.start_model = held
    try:
        with tempfile.TemporaryDirectory() as folder:
            run = coevo.search(options.problem, budget=options.budget, runs_dir=folder, seed=seed, splits=["val"]).run
            took, events = seconds(run), list(read_events(Path(run) / "events.jsonl"))
    finally:
        assemble.start_model = start
    story = [{name: value for name, value in event.items() if name != "clock"} for event in events]
    return took, story[1:-1]


def main() -> None:
    """Alternate the arms and print each run, the medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problem", default="tsp")
    parser.add_argument("--budget", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--spacing", type=float, default=0.0, help="seconds between answers")
    options = parser.parse_args()
    times: dict[str, list[float]] = {arm: [] for arm in ARMS}
    for seed in range(options.repeats):
        stories = []
        for arm in ARMS if seed % 2 == 0 else reversed(ARMS):
            took, story = measured(options, arm, seed)
            times[arm].append(took)
            stories.append(story)
            say(f"{arm} overlap, seed {seed}: {took:.1f} s")
        if stories[0] != stories[1]:
            raise SystemExit(f"seed {seed}: the two arms are different searches, so their times say nothing")
    ratios = [a / b for a, b in zip(times["with"], times["without"], strict=True)]
    say(f"wall time with / without overlap: median {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
