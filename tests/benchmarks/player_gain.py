"""What tuning does to the embedded player, at every sampling temperature, on boards that nothing was chosen by.

    python tests/benchmarks/player_gain.py --blanks 5 --seeds 0 1 2 --boards 128

For each training seed: `coevo tune --env sudoku` with the player's defaults, then the weights it began with and those
that `val` chose play the same boards of the split `test`, greedy and at several temperatures. The seed is the unit.
Writes OUT.md: per temperature the share of boards completed before, after each seed's tuning, and the difference to the
start at the start's own best temperature.
"""

import argparse
import statistics
from pathlib import Path
from typing import Any

from coevo.experiments.agent_eval import eval_agent
from coevo.records.environment import describe_environment
from coevo.tuning.api import run_tuning
from coevo.tuning.config import make_tune_config
from coevo.tuning.result import TuneResult

TEMPERATURES = (0.0, 0.3, 0.5, 0.7, 1.0)


def tuned(options: argparse.Namespace, seed: int) -> TuneResult:
    """One tuning run."""
    values: dict[str, Any] = {"env": "sudoku", "options": {"blanks": options.blanks}, "seed": seed}
    if options.workers:
        values["workers"] = options.workers
    return run_tuning(make_tune_config(values), runs_dir=options.runs_dir)


def shares(options: argparse.Namespace, run: str, generation: str, temperature: float) -> float:
    """Share of test boards that the weights after a generation complete; each board is played `repeats` times."""
    found = eval_agent(
        runs=[run],
        generation=generation,
        runs_dir=options.runs_dir,
        splits=("test",),
        repeats=1 if temperature == 0 else options.repeats,
        options={"blanks": options.blanks, "size": options.boards},
        answers={"temperature": temperature},
    )
    mean = found.rows[0].splits["test"].mean.value
    if mean is None:
        raise RuntimeError(f"no board could be played by {run}")
    return mean


def page(options: argparse.Namespace, runs: list[TuneResult], start: list[float], after: list[list[float]]) -> str:
    """The Markdown page."""
    environment = describe_environment()
    best = max(start)
    lines = [
        f"# The embedded player before and after tuning, {options.blanks} blanks",
        "",
        f"Command: `python tests/benchmarks/player_gain.py --blanks {options.blanks} --seeds "
        f"{' '.join(map(str, options.seeds))} --boards {options.boards} --repeats {options.repeats} --workers "
        f"{options.workers}`; coevo "
        f"{environment['packages']['coevo']} at {environment['commit']}; torch {environment['packages']['torch']}; "
        f"{environment['processor']}.",
        "",
        f"Share of {options.boards} test boards completed; greedy once, at a temperature {options.repeats} times each. "
        "`val` chose the weights, nothing looked at these boards before. The player is an easy case made so: it was "
        "taught a careful and a careless way to play, and tuning shifts which one it uses; no evidence of what tuning "
        "does to other models.",
        "",
        "| temperature | start | " + " | ".join(f"seed {seed}" for seed in options.seeds) + " | mean ± sd | gain |",
        "| ---: |" + " ---: |" * (len(options.seeds) + 3),
    ]
    for place, temperature in enumerate(TEMPERATURES):
        own = [row[place] for row in after]
        spread = f" ± {statistics.stdev(own):.3f}" if len(own) > 1 else ""
        cells = " | ".join(f"{value:.3f}" for value in own)
        mean = statistics.mean(own)
        lines.append(
            f"| {temperature or 'greedy'} | {start[place]:.3f} | {cells} | {mean:.3f}{spread} | "
            f"{mean - start[place]:+.3f} |"
        )
    worst = min(row[-1] for row in after)
    lines += [
        "",
        f"The start is best at temperature {TEMPERATURES[start.index(best)] or 'greedy'}: {best:.3f}. The worst seed "
        f"at temperature 1 is {worst - best:+.3f} beside that. Generations, episodes and wall time of the runs: "
        + "; ".join(f"{r.generations}, {r.spent.episodes}, {r.wall_s:.0f} s" for r in runs)
        + ".",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Tune, play, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blanks", type=int, default=5)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--boards", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--workers", type=int, default=0, help="processes; one per core if 0")
    parser.add_argument("--runs-dir", type=Path, default=Path("runs/player_gain"))
    parser.add_argument("--out", type=Path, default=Path("runs/results/player_gain"))
    options = parser.parse_args()
    runs = [tuned(options, seed) for seed in options.seeds]
    start = [shares(options, runs[0].run, "0", temperature) for temperature in TEMPERATURES]
    after = [[shares(options, run.run, "best", temperature) for temperature in TEMPERATURES] for run in runs]
    options.out.with_suffix(".md").write_text(page(options, runs, start, after))


if __name__ == "__main__":
    main()
