from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.skills.effects import AT_LEAST, Observation, effect_of, rank_scores, significant, strata_of


def observed(values, has, stratum="s"):
    """Observations of one stratum with or without the feature `x`."""
    return [
        Observation(f"{stratum}.{n}", stratum, value, frozenset({"x"} if yes else ()))
        for n, (value, yes) in enumerate(zip(values, has, strict=True))
    ]


def noise(seed, features=20, count=200, strata=8, effect=0.0):
    """Programs with random features and rewards of wildly different scale by stratum; the first feature pays."""
    rng = np.random.default_rng(seed)
    names = [f"f{n}" for n in range(features)]
    made = []
    for n in range(count):
        own = frozenset(name for name in names if rng.random() < 0.3)
        stratum = n % strata
        value = 10.0 ** (stratum % 4) * (rng.standard_t(3) + effect * ("f0" in own))
        made.append(Observation(str(n), str(stratum), float(value), own))
    return made, names


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=20))
def test_scores_are_mid_ranks(values):
    """Ties share their rank, and scores are ranks over n + 1."""
    expected = [
        (sum(other < value for other in values) + (sum(other == value for other in values) + 1) / 2) / (len(values) + 1)
        for value in values
    ]
    assert rank_scores(values) == pytest.approx(expected)


def test_the_statistic_is_that_of_the_permutation_distribution():
    """In one stratum, z is the rank sum standardised over all ways to deal the feature."""
    values = [5.0, 1.0, 1.0, 7.0, 3.0, 2.0, 8.0, 8.0, 0.5, 4.0]
    has = [True, False, False, True, True, False, True, False, False, True]
    scores = rank_scores(values)
    sums = [sum(scores[n] for n in dealt) for dealt in combinations(range(10), 5)]
    own = sum(score for score, yes in zip(scores, has, strict=True) if yes)
    effect = effect_of("x", strata_of(observed(values, has)))
    assert effect.z == pytest.approx((own - np.mean(sums)) / np.std(sums))
    assert effect.gain == pytest.approx(np.mean([5, 7, 3, 8, 4]) - np.mean([1, 1, 2, 8, 0.5]))


def test_strata_are_compared_within():
    """A feature that only goes with a richer stratum has no effect, though its programs earn more in all."""
    poor = observed([1.0, 2.0, 3.0, 4.0] * 5, [True, False, False, True] + [False] * 16, "poor")
    rich = observed([101.0, 102.0, 103.0, 104.0] * 5, [True, False, False, True] * 5, "rich")
    effect = effect_of("x", strata_of(poor + rich))
    assert abs(effect.z) < 0.5
    assert effect.gain == pytest.approx(0.0, abs=0.2)


def test_too_few_programs_are_not_tested():
    """Fewer than five on one side, counting only strata with both kinds, say nothing."""
    has = [True] * (AT_LEAST - 1) + [False] * 20
    assert effect_of("x", strata_of(observed(range(24), has))) is None
    others = observed(range(9), [True] * 9, "all have it")
    assert effect_of("x", strata_of(observed(range(24), has) + others)) is None
    assert effect_of("x", strata_of(observed([1.0] * 20, [True] * 10 + [False] * 10))) is None


def test_a_planted_effect_is_found():
    """A feature worth one standard deviation is found, alone and with the right sign, at every one of ten seeds."""
    for seed in range(10):
        made, names = noise(seed, effect=1.5)
        effects = significant(made, names)
        assert effects[0].feature == "f0"
        assert effects[0].z > 0
        assert effects[0].gain > 0


def test_noise_passes_no_more_often_than_the_rule_allows():
    """With twenty features of noise, at most 5 % of updates find anything: of 100, fewer than 12 (99.7 %)."""
    assert sum(bool(significant(*noise(seed))) for seed in range(100)) < 12


def test_effects_do_not_depend_on_the_order():
    """The same programs in another order have the same effects."""
    made, names = noise(3, effect=1.5)
    assert significant(made[::-1], names) == significant(made, names)


def test_without_programs_there_is_no_effect():
    """Nothing comes of nothing."""
    assert significant([], ["x"]) == []
