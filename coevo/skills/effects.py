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
from collections.abc import Iterable, Sequence
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


@dataclass(frozen=True, slots=True)
class Stratum:
    """Programs that may be compared, in the order of their ids, with their rank scores about their mean."""

    programs: tuple[Observation, ...]
    scores: tuple[float, ...]


def strata_of(observations: Iterable[Observation]) -> list[Stratum]:
    """Observations by stratum, in the order of their names."""
    found: dict[str, list[Observation]] = defaultdict(list)
    for observation in observations:
        found[observation.stratum].append(observation)
    return [_stratum(sorted(found[name], key=lambda o: o.id)) for name in sorted(found)]


def significant(observations: Iterable[Observation], features: Iterable[str]) -> list[Effect]:
    """Effects that pass, strongest first, ties in the order of the features.

    Only features that enough programs have and lack are tested and count in the correction; which those are does not
    depend on what the programs earned.
    """
    strata = strata_of(observations)
    tested = [effect for effect in (effect_of(feature, strata) for feature in features) if effect is not None]
    if not tested:
        return []
    bound = NormalDist().inv_cdf(1 - LEVEL / (2 * len(tested)))
    return sorted((effect for effect in tested if abs(effect.z) > bound), key=lambda effect: -abs(effect.z))


def effect_of(feature: str, strata: Sequence[Stratum]) -> Effect | None:
    """The effect of one feature, or None if too few programs have it or lack it, or if all earned the same."""
    with_it: list[str] = []
    without_it = 0
    sums = [(0.0, 0.0, 0.0, 0.0)]
    for stratum in strata:
        has = [feature in program.features for program in stratum.programs]
        count, size = sum(has), len(has)
        if 0 < count < size:
            with_it += [program.id for program, yes in zip(stratum.programs, has, strict=True) if yes]
            without_it += size - count
            sums.append(_sums(stratum, has, count))
    excess, variance, weight, gain = (math.fsum(column) for column in zip(*sums, strict=True))
    if len(with_it) < AT_LEAST or without_it < AT_LEAST or variance <= 0:
        return None
    return Effect(feature, gain / weight, excess / math.sqrt(variance), tuple(with_it), without_it)


def _sums(stratum: Stratum, has: Sequence[bool], count: int) -> tuple[float, float, float, float]:
    """What a stratum adds: the rank sum's excess, its variance under exchange, weight, weighted difference of means."""
    size = len(has)
    excess = math.fsum(score for score, yes in zip(stratum.scores, has, strict=True) if yes)
    variance = count * (size - count) / (size * (size - 1)) * math.fsum(score**2 for score in stratum.scores)
    weight = count * (size - count) / size
    mean_with, mean_without = (
        fmean(o.value for o, yes in zip(stratum.programs, has, strict=True) if yes is wanted)
        for wanted in (True, False)
    )
    return excess, variance, weight, weight * (mean_with - mean_without)


def _stratum(programs: Sequence[Observation]) -> Stratum:
    scores = rank_scores([program.value for program in programs])
    centre = fmean(scores)
    return Stratum(tuple(programs), tuple(score - centre for score in scores))


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
