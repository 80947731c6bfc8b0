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
        mean_arm: Mean objective over those of them for which both sides have a value, own sense.
        mean_baseline: The same of the baseline.
        gap_arm: Mean gap over the same seeds.
        gap_baseline: The same of the baseline.
        paired: Statistics of the differences; positive favours the arm.
        outcome: The better mean; of the arm's view. None without a pair.
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
        """Mean gap of the baseline / mean gap of the arm − 1, as published."""
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
    """The row of a cell; for a raised cell that is not there, its arm's own, if nothing was charged for skills."""
    own = by_key.get((problem, budget, arm, seed))
    base, mark, other = arm.partition("@")
    if own is not None or not mark:
        return own
    donor = by_key.get((problem, budget, other, seed))
    return by_key.get((problem, budget, base, seed)) if donor is not None and donor.skill == 0 else None


def _result(layout: Layout, comparison: Comparison, split: str, by_key: Mapping[Key, Row]) -> Result:
    sign = 1.0 if layout.senses[comparison.problem] == "min" else -1.0
    pairs = [
        (arm, baseline)
        for seed in layout.grid.seeds
        if (arm := row_for(by_key, comparison.problem, comparison.budget, comparison.arm, seed)) is not None
        and (baseline := row_for(by_key, comparison.problem, comparison.budget, comparison.baseline, seed)) is not None
        and arm.state == baseline.state == "done"
    ]
    values = [(arm.objectives.get(split), baseline.objectives.get(split)) for arm, baseline in pairs]
    known = [pair for pair, (a, b) in zip(pairs, values, strict=True) if a is not None and b is not None]
    mean_arm, mean_baseline = (_mean([row.objectives.get(split) for row in side]) for side in _sides(known))
    gap_arm, gap_baseline = (_mean([row.gaps.get(split) for row in side]) for side in _sides(known))
    return Result(
        comparison, split, sign, len(pairs), mean_arm, mean_baseline, gap_arm, gap_baseline,
        paired([a for a, _ in values], [b for _, b in values], sign=sign),
        outcome(mean_arm, mean_baseline, sign=sign) if known else None,
    )  # fmt: skip


def _sides(pairs: Sequence[tuple[Row, Row]]) -> tuple[list[Row], list[Row]]:
    return [arm for arm, _ in pairs], [baseline for _, baseline in pairs]


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean, or None without values or if one is unknown."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known and len(known) == len(values) else None
