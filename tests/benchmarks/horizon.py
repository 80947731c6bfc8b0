"""What episodes of growing length do to evolution strategies and to backpropagation: the horizon table.

    OMP_NUM_THREADS=1 python tests/benchmarks/horizon.py --blanks 5 10 15 --seeds 0 1 2

A cell is one `coevo tune --env sudoku` of the embedded player in a process of its own, and one `coevo eval-agent` of
the weights that `val` chose, on boards of the split `test` that nothing was chosen by. An episode has as many turns as
the board has blanks, if it goes well, and one reward at its end. All arms play the same number of training episodes, on
the same boards, at the sampling of the environment (σ to 0 has no members in its last generation, and plays none); what
a measurement on `val` plays is the same for all as well.

Writes OUT.csv, one row per cell, as each is done (a row that is there is not made again, so the table can be stopped
and started), and OUT.md. Rows of the seeds in --choosing show how the settings of the baselines were chosen; they are
not in the table.
"""

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from coevo.records.environment import describe_environment

ARMS: dict[str, tuple[str, ...]] = {
    "ESOpt": (),
    "constant σ": ("--schedule", "constant"),
    "σ to 0": ("--sigma-end", "0"),
    "CoPES K=2": ("--subspaces", "2"),
    "CoPES K=4": ("--subspaces", "4"),
    "GRPO 1e-4": ("--method", "grpo", "lr=1e-4"),
    "GRPO 3e-4": ("--method", "grpo", "lr=3e-4"),
    "GRPO 1e-3": ("--method", "grpo", "lr=1e-3"),
    "PPO 1e-4": ("--method", "ppo", "lr=1e-4"),
    "PPO 3e-4": ("--method", "ppo", "lr=3e-4"),
    "PPO 1e-3": ("--method", "ppo", "lr=1e-3"),
}
"""Name -> what it adds to the command; `lr=` is written to a configuration file. Everything else is as the player's
defaults say: σ from 0.015 to 0.005 by cosine, α 0.01, joint z-scores, common seeds of the members."""

START = "start"


@dataclass(frozen=True)
class Row:
    """One cell. Scores are shares of boards completed, maximised.

    Attributes:
        val: Of the chosen weights, on the boards that chose them.
        score: Of the same weights on boards of `test`, each played once at the environment's temperature.
        generation: After which these weights were reached.
        episodes: Of training; the same for all arms.
        tokens: Written by the model in training and measurements.
        wall_s: Of the tuning run.
        peak_mb: Sum of the peaks of its processes, in units of 10⁶ bytes.
    """

    blanks: int
    arm: str
    seed: int
    val: float
    score: float
    generation: int
    episodes: int
    tokens: int
    wall_s: float
    peak_mb: float

    @property
    def key(self) -> tuple[int, str, int]:
        """What a row is of."""
        return self.blanks, self.arm, self.seed


def cell(options: argparse.Namespace, blanks: int, arm: str, seed: int) -> Row:
    """Tune, then play the boards of `test`."""
    board = ("--env", "sudoku", "--option", f"blanks={blanks}")
    run = ("--seed", str(seed), "--workers", str(options.workers), "--runs-dir", str(options.runs_dir), "--json")
    size = ("--option", f"size={options.boards}", "--split", "test", "--repeats", "1")
    if arm == START:
        found = coevo("eval-agent", *board, *size, *run)
        return Row(blanks, arm, seed, 0.0, score_of(found), 0, 0, 0, 0.0, 0.0)
    flags = [flag for flag in ARMS[arm] if not flag.startswith("lr=")]
    with tempfile.TemporaryDirectory() as folder:
        for flag in set(ARMS[arm]) - set(flags):
            file = Path(folder, "baseline.toml")
            file.write_text(f"[baseline]\nlr = {flag.removeprefix('lr=')}\n")
            flags += ["--config", str(file)]
        amount = ("--generations", str(options.generations), "--tasks", str(options.tasks))
        tuned = coevo("tune", *board, *amount, *run, *flags)
    played = coevo("eval-agent", "--run", tuned["run"], *board[2:], *size, *run)
    best, spent = tuned["best"], tuned["spent"]
    return Row(
        blanks, arm, seed, best["mean"], score_of(played), best["generation"], spent["episodes"], spent["tokens"],
        tuned["wall_s"], peak_of(Path(tuned["run"])),
    )  # fmt: skip


def coevo(*words: str) -> dict[str, Any]:
    """The JSON document of a command."""
    ended = subprocess.run([sys.executable, "-m", "coevo", *words], stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def score_of(found: dict[str, Any]) -> float:
    """Mean score of the only row of an `eval-agent` document."""
    value: float = found["rows"][0]["splits"]["test"]["mean"]["value"]
    return value


def peak_of(run: Path) -> float:
    """From the event that ends a run."""
    (finished,) = (event for line in (run / "events.jsonl").open() if (event := json.loads(line))["kind"] == "finished")
    peak: float = finished["clock"]["peak_mb"]
    return peak


def read_rows(file: Path) -> list[Row]:
    """The rows that are there."""
    if not file.exists():
        return []
    with file.open(newline="") as lines:
        return [Row(**{f.name: f.type(row[f.name]) for f in fields(Row)}) for row in csv.DictReader(lines)]


def write_rows(file: Path, rows: list[Row]) -> None:
    """All rows, in place of the file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_suffix(".new")
    with fresh.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, [f.name for f in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
    fresh.replace(file)


def table(rows: list[Row], blanks: int, seeds: list[int]) -> list[str]:
    """One number of blanks: every arm over the seeds that it has."""
    here = [row for row in rows if row.blanks == blanks and row.seed in seeds]
    start = next((row.score for row in rows if row.blanks == blanks and row.arm == START), None)
    base = {row.seed: row.score for row in here if row.arm == "ESOpt"}
    begun = "not measured" if start is None else f"{start:.3f}"
    lines = [
        f"## {blanks} blanks (start {begun})",
        "",
        "| arm | seeds | completed, mean ± sd | each seed | ahead of ESOpt | episodes | tokens | wall s | peak MB |",
        "| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for arm in ARMS:
        own = sorted((row for row in here if row.arm == arm), key=lambda row: row.seed)
        if not own:
            continue
        scores = [row.score for row in own]
        spread = f" ± {statistics.stdev(scores):.3f}" if len(own) > 1 else ""
        ahead = sum(row.score > base[row.seed] for row in own if row.seed in base)
        lines.append(
            f"| {arm} | {len(own)} | {statistics.mean(scores):.3f}{spread} | {', '.join(f'{s:.3f}' for s in scores)} | "
            f"{'' if arm == 'ESOpt' else f'{ahead} of {len(base)}'} | {own[0].episodes} | "
            f"{statistics.mean(row.tokens for row in own):.0f} | {statistics.mean(row.wall_s for row in own):.0f} | "
            f"{statistics.mean(row.peak_mb for row in own):.0f} |"
        )
    return [*lines, ""]


def choice(rows: list[Row], seeds: list[int]) -> list[str]:
    """How the settings were chosen: by `val` alone."""
    own = [row for row in rows if row.seed in seeds and row.arm != START]
    if not own:
        return []
    lines = [
        "## Settings",
        "",
        f"Chosen by the score on `val` with training seeds that are not in the tables ({', '.join(map(str, seeds))}).",
        "",
        "| blanks | arm | seed | val | wall s |",
        "| ---: | --- | ---: | ---: | ---: |",
    ]
    return [*lines, *(f"| {r.blanks} | {r.arm} | {r.seed} | {r.val:.3f} | {r.wall_s:.0f} |" for r in own), ""]


def page(rows: list[Row], options: argparse.Namespace) -> str:
    """The Markdown page."""
    environment = describe_environment()
    arms = " ".join(f"'{arm}'" for arm in options.arms)
    lines = [
        "# The horizon table: longer episodes, evolution strategies and backpropagation",
        "",
        f"Command: `python tests/benchmarks/horizon.py --blanks {' '.join(map(str, options.blanks))} --seeds "
        f"{' '.join(map(str, options.seeds))} --arms {arms} --generations {options.generations} --tasks "
        f"{options.tasks} --boards {options.boards} --workers {options.workers}`; coevo "
        f"{environment['packages']['coevo']} at {environment['commit']}; torch {environment['packages']['torch']}; "
        f"{environment['processor']}.",
        "",
        f"Share of {options.boards} test boards completed by the weights that `val` chose, each board played once at "
        "the environment's temperature, as the start is. Every arm plays the same number of training episodes, but for "
        "σ to 0, whose last generation has no members left to play. The player is an easy case made so (it was taught "
        "a careful and a careless way to play): the table says how the methods compare on it, not on other models. "
        "Wall time is of the tuning run, measurements on `val` included.",
        "",
    ]
    for blanks in options.blanks:
        lines += table(rows, blanks, options.seeds)
    return "\n".join(lines + choice(rows, options.choosing))


def main() -> None:
    """Make the cells that are missing, and the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blanks", type=int, nargs="+", default=[5, 10, 15])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--choosing", type=int, nargs="+", default=[100], help="seeds that chose settings")
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--generations", type=int, default=12)
    parser.add_argument("--tasks", type=int, default=8)
    parser.add_argument("--boards", type=int, default=128)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--runs-dir", type=Path, default=Path("runs/horizon"))
    parser.add_argument("--out", type=Path, default=Path("runs/results/horizon"))
    options = parser.parse_args()
    file, rows = options.out.with_suffix(".csv"), read_rows(options.out.with_suffix(".csv"))
    starts = [(blanks, START, 0) for blanks in options.blanks]
    # Seed by seed, so that drift of the machine falls on all arms alike.
    cells = [(blanks, arm, seed) for seed in options.seeds for blanks in options.blanks for arm in options.arms]
    for key in starts + cells:
        if key not in {row.key for row in rows}:
            rows.append(cell(options, *key))
            write_rows(file, rows)
            print(json.dumps(asdict(rows[-1])), flush=True)
    options.out.with_suffix(".md").write_text(page(rows, options))


if __name__ == "__main__":
    main()
