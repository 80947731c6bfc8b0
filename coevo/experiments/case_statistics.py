"""From episodes to means with intervals: the unit is the case, a task with all its episodes.

Episodes of one task are no independent evidence on other tasks, so intervals are over tasks; where several runs were
trained under different seeds, those of their mean are over runs.
"""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from coevo.experiments.statistics import bootstrap_interval
from coevo.tuning.episodes import Episode
from coevo.tuning.eval_result import Estimate, Evaluated, OverRuns
from coevo.tuning.scores import Cases


def estimate(values: Sequence[float]) -> Estimate | None:
    """The mean of values with its 95 % interval; None without any.

    Where all values are the same there is no interval: resampling them knows nothing of those that were not drawn, and
    an interval without width would claim to.
    """
    if not values:
        return None
    low, high = bootstrap_interval(np.array(values, np.float64)) if len(set(values)) > 1 else (None, None)
    return Estimate(value=math.fsum(values) / len(values), low=low, high=high)


def evaluated(episodes: Sequence[Episode], *, at_best: float) -> Evaluated:
    """One subject on one split.

    Args:
        episodes: Of all its tasks; several of a task are repeats.
        at_best: The score that counts as passed.
    """
    cases = Cases(episodes)
    counted = len(cases.counted)
    return Evaluated(
        mean=estimate(list(cases.scores.values())),
        passed={str(j): _sure(found) for j, found in cases.passed(at_best).items()},
        turns=estimate(cases.means(lambda episode: episode.turns)),
        tokens=estimate(cases.means(lambda episode: episode.tokens)),
        cases=len(cases.scores),
        episodes=counted,
        faults=len(episodes) - counted,
        ended=dict(sorted(Counter(episode.ended for episode in episodes).items())),
    )


def over_runs(found: Sequence[Evaluated]) -> OverRuns | None:
    """Several runs on one split; None unless two or more could be scored."""
    known = [
        (each, mean, turns, tokens)
        for each in found
        if (mean := each.mean) and (turns := each.turns) and (tokens := each.tokens)
    ]
    if len(known) < 2:
        return None
    means = [mean.value for _, mean, _, _ in known]
    shared = set.intersection(*(set(each.passed) for each, *_ in known))
    passed = {j: _sure([each.passed[j].value for each, *_ in known]) for j in sorted(shared, key=int)}
    return OverRuns(
        runs=len(known),
        mean=_sure(means),
        spread=float(np.std(means, ddof=1)),
        passed=passed,
        turns=_sure([turns.value for _, _, turns, _ in known]),
        tokens=_sure([tokens.value for _, _, _, tokens in known]),
    )


def _sure(values: Sequence[float]) -> Estimate:
    found = estimate(values)
    if found is None:
        raise ValueError("expected one value or more, got none")
    return found
