"""How long N episodes at once take beside the slowest one alone, when every turn's tool sleeps.

    python tests/benchmarks/rollouts.py --episodes 32 --turns 4 --sleep 0.5 --repeats 3

The agent is the scripted engine, which answers at once, so that what is left is the tool and coevo's own work. Single
episodes and all at once are measured in turn, in one process. Prints a Markdown table.
"""

import argparse
import statistics
import time
from collections.abc import Sequence

from coevo.engines.scripted import ScriptedEngine
from coevo.environments.spec import EpisodeLimits
from coevo.interfaces import Message, Sampling, Step, Task
from coevo.records.environment import describe_environment
from coevo.tuning.episodes import Assignment
from coevo.tuning.playing import Rollouts, Rules
from coevo.tuning.prompting import Prompter


class Sleeping:
    """An environment whose tool sleeps at every turn."""

    def __init__(self, turns: int, sleep_s: float) -> None:
        self._turns, self._sleep_s, self._turn = turns, sleep_s, 0

    def reset(self, task: Task, seed: int) -> Sequence[Message]:
        """Begin."""
        self._turn = 0
        return [Message("user", task.name)]

    def step(self, text: str) -> Step:
        """Sleep."""
        time.sleep(self._sleep_s)
        self._turn += 1
        return Step((Message("user", "go on"),), 1.0, done=self._turn == self._turns)

    def close(self) -> None:
        """Nothing is held."""


def seconds(options: argparse.Namespace, episodes: int) -> float:
    """Wall time of so many episodes, played together."""
    limits = EpisodeLimits(turns=options.turns, turn_tokens=8, at_once=max(episodes, 1))
    rules = Rules(limits, Sampling(max_tokens=8), renews=False)
    make = lambda: Sleeping(options.turns, options.sleep)  # noqa: E731
    rollouts = Rollouts(ScriptedEngine(["next"]), make, rules, Prompter("plain"))
    assignments = [Assignment(f"a{n}", Task(f"t{n}", {}), n, n) for n in range(episodes)]
    started = time.perf_counter()
    found = list(rollouts.play(assignments))
    taken = time.perf_counter() - started
    rollouts.close()
    if len(found) != episodes or any(episode.score != options.turns for episode in found):
        raise RuntimeError("not every episode was played to its end")
    return taken


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=32)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--sleep", type=float, default=0.5)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    rows = [(seconds(options, 1), seconds(options, options.episodes)) for _ in range(options.repeats)]
    environment = describe_environment()
    print(
        f"Command: `python tests/benchmarks/rollouts.py --episodes {options.episodes} --turns {options.turns} --sleep "
        f"{options.sleep} --repeats {options.repeats}`; coevo at {environment['commit']}; {environment['processor']}.\n"
    )
    print(f"| repeat | one episode, s | {options.episodes} at once, s | ratio |\n| ---: | ---: | ---: | ---: |")
    for number, (alone, together) in enumerate(rows, 1):
        print(f"| {number} | {alone:.3f} | {together:.3f} | {together / alone:.3f} |")
    print(f"\nMedian ratio {statistics.median(together / alone for alone, together in rows):.3f}.")


if __name__ == "__main__":
    main()
