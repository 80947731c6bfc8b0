"""What a grid found: each comparison on each test split, from the rows of its cells and nothing else."""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coevo.experiments.cells import Comparison, Layout
from coevo.experiments.rows import Key, Row
from coevo.experiments.statistics import Outcome, Paired, gap_gain, outcome, paired, sign_test


@dataclass(frozen=True, slots=True)
class Result:
    """One comparison on one split.

    Attributes:
        comparison: Which arm against which, where.
        split: The split.
        sign: +1 if the objective is minimised, −1 if maximised.
        seeds: Seeds whose two cells are both done.
        mean_arm: Mean objective over all of them, own sense; None where the arm has no value with one of them.
        mean_baseline: The same of the baseline.
        gap_arm: Mean gap over the same seeds.
        gap_baseline: The same of the baseline.
        paired: Statistics of the differences; positive favours the arm.
        outcome: The better mean, of the arm's view: a side that has no value with some seed loses. Where neither has
            all its values, whoever wins more seeds wins. None without a seed.
    """

    comparison: Comparison
    split: str
    sign: float
    seeds: int
    mean_arm: float | None
    mean_baseline: float | None
    gap_arm: float | None
    gap_baseline: float | None
    paired: Paired
    outcome: Outcome | None

    @property
    def gap_gain(self) -> float | None:
        """Mean gap of the baseline / mean gap of the arm − 1, as published; None where a seed lacks a value."""
        return gap_gain(self.gap_arm, self.gap_baseline)


@dataclass(frozen=True, slots=True)
class Overall:
    """Wins, ties and losses of an arm's means over problems, budgets and splits, with the sign test over them."""

    at: str
    arm: str
    baseline: str
    wins: int
    ties: int
    losses: int

    @property
    def p(self) -> float:
        """Exact two-sided sign test; cells that share a run are not independent, so this is a rough guide."""
        return sign_test(self.wins, self.losses)


def compare(layout: Layout, rows: Sequence[Row]) -> list[Result]:
    """Every comparison of a grid on every reported split, in the grid's order."""
    by_key = {row.key: row for row in rows}
    return [
        _result(layout, comparison, split, by_key)
        for comparison in layout.comparisons
        for split in layout.splits[comparison.problem]
    ]


def overall(results: Sequence[Result]) -> list[Overall]:
    """Wins, ties and losses of every pair of arms, over all problems, budgets and splits."""
    counts: dict[tuple[str, str, str], Counter[str]] = {}
    for result in results:
        comparison = result.comparison
        names = (comparison.at, comparison.arm.partition("@")[0], comparison.baseline.partition("@")[0])
        counts.setdefault(names, Counter())[result.outcome or "none"] += 1
    return [Overall(*names, found["win"], found["tie"], found["loss"]) for names, found in counts.items()]


def row_for(by_key: Mapping[Key, Row], problem: str, budget: int, arm: str, seed: int) -> Row | None:
    """The row of a cell; for a raised cell that needs no run, since nothing was charged for skills, its arm's own."""
    base, mark, other = arm.partition("@")
    donor = by_key.get((problem, budget, other, seed)) if mark else None
    is_same = donor is not None and donor.state == "done" and donor.skill == 0
    return by_key.get((problem, budget, base if is_same else arm, seed))


def _result(layout: Layout, comparison: Comparison, split: str, by_key: Mapping[Key, Row]) -> Result:
    sign = 1.0 if layout.senses[comparison.problem] == "min" else -1.0
    pairs = [
        (arm, baseline)
        for seed in layout.grid.seeds
        if (arm := row_for(by_key, comparison.problem, comparison.budget, comparison.arm, seed)) is not None
        and (baseline := row_for(by_key, comparison.problem, comparison.budget, comparison.baseline, seed)) is not None
        and arm.state == baseline.state == "done"
    ]
    sides = [arm for arm, _ in pairs], [baseline for _, baseline in pairs]
    arm_values, baseline_values = ([row.objectives.get(split) for row in side] for side in sides)
    gap_arm, gap_baseline = (mean_of([row.gaps.get(split) for row in side]) for side in sides)
    mean_arm, mean_baseline = mean_of(arm_values), mean_of(baseline_values)
    found = paired(arm_values, baseline_values, sign=sign)
    return Result(
        comparison, split, sign, len(pairs), mean_arm, mean_baseline, gap_arm, gap_baseline, found,
        _outcome(mean_arm, mean_baseline, sign, found) if pairs else None,
    )  # fmt: skip


def _outcome(arm: float | None, baseline: float | None, sign: float, found: Paired) -> Outcome:
    if arm is None and baseline is None and found.wins != found.losses:
        return "win" if found.wins > found.losses else "loss"
    return outcome(arm, baseline, sign=sign)


def mean_of(values: Sequence[float | None]) -> float | None:
    """The mean, or None without values or if one is unknown."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known and len(known) == len(values) else None
