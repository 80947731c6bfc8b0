"""Effects: whether programs with a feature earn more than those without, compared within strata and pooled.

Rewards of different batches do not compare: parents differ, and late rewards are small. So ranks are taken within a
stratum, and the sum of the scores of those with the feature is compared with its expectation under random exchange
within strata (the stratified rank test of van Elteren, Bull. Int. Stat. Inst. 37, 1960), in units of its exact
standard deviation, which takes ties into account. An effect counts if that z is beyond the two-sided 5 % bound of the
normal distribution divided by the number of features tested (Bonferroni), and if at least `AT_LEAST` programs stand on
either side in strata that have both. Tested again after every update, over a run more than 5 % of noise passes: each
test holds for its own moment only.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean

AT_LEAST = 5
"""Programs on either side."""
LEVEL = 0.05
"""Chance that noise alone passes as an effect, over all features tested at once."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One program: where it may be compared, what it earned (maximised), and which features it has."""

    id: str
    stratum: str
    value: float
    features: frozenset[str]


@dataclass(frozen=True, slots=True)
class Effect:
    """What a feature goes with.

    Attributes:
        feature: Its name.
        gain: Mean of the value with it minus that without it, within strata, weighted n₁n₀/(n₁+n₀).
        z: Standardised rank sum of those with it; positive where they earn more.
        with_it: Ids of those with it, in strata that have both kinds.
        without_it: How many are without it there.
    """

    feature: str
    gain: float
    z: float
    with_it: tuple[str, ...]
    without_it: int


def significant(observations: Sequence[Observation], features: Iterable[str]) -> list[Effect]:
    """Effects that pass, strongest first, ties in the order of the features.

    Only features that enough programs have and lack are tested and count in the correction; which those are does not
    depend on what the programs earned.
    """
    strata: dict[str, list[Observation]] = defaultdict(list)
    for observation in observations:
        strata[observation.stratum].append(observation)
    tested = [effect for effect in (effect_of(feature, strata) for feature in features) if effect is not None]
    if not tested:
        return []
    bound = NormalDist().inv_cdf(1 - LEVEL / (2 * len(tested)))
    return sorted((effect for effect in tested if abs(effect.z) > bound), key=lambda effect: -abs(effect.z))


def effect_of(feature: str, strata: Mapping[str, Sequence[Observation]]) -> Effect | None:
    """The effect of one feature, or None if too few programs have it or lack it, or if all earned the same."""
    with_it: list[str] = []
    without_it = 0
    excess: list[float] = []
    variances: list[float] = []
    weights: list[float] = []
    gains: list[float] = []
    for name in sorted(strata):
        values = sorted(strata[name], key=lambda observation: observation.id)
        has = [feature in observation.features for observation in values]
        n1, n = sum(has), len(values)
        if not 0 < n1 < n:
            continue
        scores = rank_scores([observation.value for observation in values])
        centre = fmean(scores)
        excess.append(math.fsum(score - centre for score, yes in zip(scores, has, strict=True) if yes))
        spread = math.fsum((score - centre) ** 2 for score in scores)
        variances.append(n1 * (n - n1) / (n * (n - 1)) * spread)
        weights.append(n1 * (n - n1) / n)
        gains.append(_mean_of(values, has, True) - _mean_of(values, has, False))
        with_it += [observation.id for observation, yes in zip(values, has, strict=True) if yes]
        without_it += n - n1
    variance = math.fsum(variances)
    if len(with_it) < AT_LEAST or without_it < AT_LEAST or variance <= 0:
        return None
    gain = math.fsum(w * g for w, g in zip(weights, gains, strict=True)) / math.fsum(weights)
    return Effect(feature, gain, math.fsum(excess) / math.sqrt(variance), tuple(with_it), without_it)


def rank_scores(values: Sequence[float]) -> list[float]:
    """Ranks from 1 for the smallest, ties sharing the mean of theirs, over n + 1: van Elteren's weights."""
    order = sorted(range(len(values)), key=lambda place: values[place])
    scores = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for place in order[start : end + 1]:
            scores[place] = ((start + end) / 2 + 1) / (len(values) + 1)
        start = end + 1
    return scores


def _mean_of(values: Sequence[Observation], has: Sequence[bool], wanted: bool) -> float:
    return fmean(o.value for o, yes in zip(values, has, strict=True) if yes is wanted)
