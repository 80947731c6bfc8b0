"""Arms on equal terms: ES, frozen model, training grammar; same problem, budget and seeds.

    python tests/benchmarks/arms.py --budget 1000 --seeds 0 1 2 3 4 --out runs/results/arms-tsp

Writes OUT.csv (one row per run), OUT.md (the table) and keeps the run directories under --runs-dir; a run that is there
already and finished is read, not repeated, so the command can be stopped and started again. The seed is the unit:
spreads are standard deviations over seeds, differences are paired by seed with a bootstrap interval.
"""

import argparse
import csv
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from statistics import mean, stdev

import numpy as np

import coevo
from coevo.records.environment import describe_environment
from coevo.records.event_log import read_events

ARMS = {"ES": {}, "frozen": {"es": "off"}, "grammar": {"method": "grammar"}}


@dataclass(frozen=True)
class Row:
    """One run: objectives are mean tour lengths, minimised; shares and rewards are over the children of m1 and m2."""

    arm: str
    seed: int
    search: float
    val: float
    test50: float
    valid: float
    reward_first: float
    reward_last: float
    completions: int


def run_of(arm: str, options: argparse.Namespace, seed: int) -> Path:
    """The finished run of an arm and seed by this very version of coevo, made now if it is not there."""
    folder = options.runs_dir / f"{options.problem}-{options.budget}-{arm}-{seed}"
    commit = describe_environment()["commit"]
    for path in sorted(folder.glob("*")):
        result = coevo.load_run(path).result
        made_by = json.loads((path / "environment.json").read_text())["commit"]
        if result is not None and result.status == "done" and made_by == commit:
            return path
    settings = {**ARMS[arm], "seed": seed, "compare": False}
    if options.workers is not None:
        settings["workers"] = options.workers
    return Path(coevo.search(options.problem, budget=options.budget, runs_dir=folder, **settings).run)


def batches(run: Path) -> Iterator[dict]:
    """The recorded batches of m1 and m2, in order."""
    return (e for e in read_events(run / "events.jsonl") if e["kind"] == "batch" and e["operator"] in ("m1", "m2"))


def row_of(arm: str, seed: int, run: Path) -> Row:
    """Every number of a row comes from the run's events or its result."""
    result = coevo.load_run(run).result
    evolving = list(batches(run))
    rewards = [batch["reward"] for batch in evolving if batch["reward"] is not None]
    third = max(1, len(rewards) // 3)
    return Row(
        arm, seed, result.best.objective, result.splits["val"].objective, result.splits["test50"].objective,
        sum(b["valid"] for b in evolving) / sum(b["children"] for b in evolving),
        mean(rewards[:third]), mean(rewards[-third:]), result.budget.operator,
    )  # fmt: skip


def paired(rows: list[Row], arm: str, other: str) -> str:
    """Mean of val(arm) − val(other) over seeds, with a 95 % bootstrap interval and the count of wins."""
    by_seed = {(row.arm, row.seed): row.val for row in rows}
    differences = np.array([by_seed[arm, s] - by_seed[other, s] for s in sorted({row.seed for row in rows})])
    rng = np.random.default_rng(0)
    resampled = rng.choice(differences, (10_000, len(differences))).mean(axis=1)
    low, high = np.quantile(resampled, [0.025, 0.975])
    wins, losses = int((differences < 0).sum()), int((differences > 0).sum())
    return (
        f"{arm} − {other}: {differences.mean():+.4f} [{low:+.4f}, {high:+.4f}], "
        f"{wins} wins, {losses} losses of {len(differences)}"
    )


def curve(runs: list[Path]) -> list[tuple[int, float, float]]:
    """Generation, valid share and mean reward of m1 and m2, averaged over runs."""
    by_generation: dict[int, list[dict]] = {}
    for run in runs:
        for batch in batches(run):
            by_generation.setdefault(batch["generation"], []).append(batch)
    return [
        (
            generation,
            sum(b["valid"] for b in found) / sum(b["children"] for b in found),
            mean(b["reward"] for b in found if b["reward"] is not None),
        )
        for generation, found in sorted(by_generation.items())
    ]


def spread(values: list[float]) -> str:
    """Mean ± standard deviation over seeds."""
    return f"{mean(values):.4f} ± {stdev(values):.4f}"


def table(rows: list[Row], curves: dict[str, list[tuple[int, float, float]]], options: argparse.Namespace) -> str:
    """The Markdown page."""
    environment = describe_environment()
    lines = [
        f"# Arms on {options.problem}, budget {options.budget}, {len(options.seeds)} seeds",
        "",
        f"Command: `python tests/benchmarks/arms.py --problem {options.problem} --budget {options.budget} "
        f"--seeds {' '.join(map(str, options.seeds))} --arms {' '.join(options.arms)} --out {options.out}`",
        "",
        f"coevo {environment['packages']['coevo']} at {environment['commit']}; "
        f"torch {environment['packages']['torch']}, numpy {environment['packages']['numpy']}; "
        f"{environment['cores']} cores, {environment['processor']}.",
        "",
        "Mean ± standard deviation over seeds. Lower tour lengths are better. Reward: mean over the children of m1 and "
        "m2 of parent cost − child cost, clipped as in `coevo/searching/rewards.py`; first and last third of batches.",
        "",
        "| arm | search | val | test50 | valid m1, m2 | reward, first third | reward, last third |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for arm in options.arms:
        own = [row for row in rows if row.arm == arm]
        fields = ("search", "val", "test50", "valid", "reward_first", "reward_last")
        cells = [spread([getattr(row, field) for row in own]) for field in fields]
        lines.append(f"| {arm} | {' | '.join(cells)} |")
    pairs = [f"- {paired(rows, arm, other)}" for arm, other in combinations(options.arms, 2)]
    if pairs:
        lines += [
            "",
            "Paired by seed on `val` (95 % bootstrap interval of the mean; negative favours the first):",
            "",
            *pairs,
        ]
    lines += ["", "By generation, m1 and m2 (valid share / mean reward):", ""]
    lines += ["| generation | " + " | ".join(curves) + " |", "| --- |" + " --- |" * len(curves)]
    for points in zip(*curves.values(), strict=True):
        cells = [f"{valid:.2f} / {reward:+.4f}" for _, valid, reward in points]
        lines.append(f"| {points[0][0]} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run every arm with every seed, seed by seed, so that drift of the machine falls on all arms alike."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problem", default="tsp")
    parser.add_argument("--budget", type=int, default=1000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--workers", type=int, help="of each run; two processes with one worker each fill two cores")
    parser.add_argument("--runs-dir", type=Path, default=Path("runs/arms"))
    options = parser.parse_args()
    rows, runs = [], {arm: [] for arm in options.arms}
    for seed in options.seeds:
        for arm in options.arms:
            run = run_of(arm, options, seed)
            runs[arm].append(run)
            rows.append(row_of(arm, seed, run))
            print(json.dumps(asdict(rows[-1])), flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with options.out.with_suffix(".csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, asdict(rows[0]).keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
    curves = {arm: curve(paths) for arm, paths in runs.items()}
    options.out.with_suffix(".md").write_text(table(rows, curves, options))


if __name__ == "__main__":
    main()
