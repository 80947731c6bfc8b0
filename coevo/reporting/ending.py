"""How a run ended: the best heuristic and its yardsticks on every split, from verdicts.

Names of yardsticks and best-known values of splits that a search does not see are not in the events: those come from
`result.json`, and a value of it is taken only where the verdicts give the same.
"""

import math
import statistics
from collections.abc import Mapping

from coevo.reporting.journal import Verdict
from coevo.reporting.story import Comparison, Sense, SplitStory
from coevo.searching.result import SearchResult, SplitResult

Verdicts = Mapping[str, Verdict]
"""Verdicts on one candidate, by split; `#` and a number mark a split under fresh seeds."""


def sense_of(verdicts: Mapping[str, Verdicts]) -> Sense | None:
    """Whether the objective is minimised, as a verdict shows; None while none tells."""
    for by_split in verdicts.values():
        for verdict in by_split.values():
            if verdict.cost:
                return "min" if verdict.cost == verdict.objective else "max"
    return None


def gap_of(sense: Sense, objective: float | None, reference: float | None) -> float | None:
    """How much worse an objective is than the best known one, as a fraction of the latter; 0 is as good."""
    if objective is None or not reference:
        return None
    return (1.0 if sense == "min" else -1.0) * (objective - reference) / abs(reference)


def splits_of(verdicts: Verdicts, result: Mapping[str, SplitResult]) -> tuple[SplitStory, ...]:
    """Means over splits, in the order of the result."""
    return tuple(_split(name, verdicts, value) for name, value in result.items())


def comparisons_of(baselines: Mapping[str, Verdicts], result: SearchResult) -> tuple[Comparison, ...]:
    """The yardsticks of the result; those that verdicts bear out are marked as recorded."""
    return tuple(_comparison(name, row, baselines) for name, row in result.comparisons.items())


def _comparison(name: str, row: Mapping[str, SplitResult], baselines: Mapping[str, Verdicts]) -> Comparison:
    for verdicts in baselines.values():
        measured = splits_of(verdicts, row)
        if all(_agree(split.objective, row[split.split].objective) for split in measured):
            return Comparison(name, measured, is_recorded=True)
    stated = tuple(SplitStory(split, value.objective, value.spread, value.gap) for split, value in row.items())
    return Comparison(name, stated, is_recorded=False)


def _split(name: str, verdicts: Verdicts, stated: SplitResult) -> SplitStory:
    objectives = _draws(name, verdicts)
    known = [value for value in objectives if value is not None]
    if not known or len(known) < len(objectives):
        return SplitStory(name, None, None, None)
    objective = statistics.fmean(known)
    spread = statistics.stdev(known) if len(known) > 1 else None
    return SplitStory(name, objective, spread, stated.gap if _agree(objective, stated.objective) else None)


def _draws(split: str, verdicts: Verdicts) -> list[float | None]:
    """The objectives on a split: under fresh seeds where it has been measured so, else under its own."""
    fresh = [verdict.objective for name, verdict in verdicts.items() if name.startswith(f"{split}#")]
    return fresh or ([verdicts[split].objective] if split in verdicts else [])


def _agree(ours: float | None, stated: float | None) -> bool:
    if ours is None or stated is None:
        return ours is stated
    return math.isclose(ours, stated, rel_tol=1e-12, abs_tol=1e-12)
