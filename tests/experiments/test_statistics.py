import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.experiments.statistics import (
    bootstrap_interval,
    expanded_tail,
    gap_gain,
    outcome,
    paired,
    sign_test,
    student_cdf,
    student_quantile,
)

VALUES = st.floats(-1e6, 1e6).map(lambda value: round(value, 3))
SAMPLES = st.lists(VALUES, min_size=2, max_size=12)
PAIRS = st.lists(st.tuples(st.none() | VALUES, st.none() | VALUES), min_size=1, max_size=12)


@given(PAIRS, st.sampled_from([1.0, -1.0]))
def test_swapping_the_arms_turns_everything_round(pairs, sign):
    """Differences and intervals change sign, wins become losses, p stays."""
    arm, baseline = zip(*pairs, strict=True)
    there, back = paired(arm, baseline, sign=sign), paired(baseline, arm, sign=sign)
    assert (there.count, there.ties, there.p) == (back.count, back.ties, back.p)
    assert (there.wins, there.losses) == (back.losses, back.wins)
    assert there.sd == back.sd
    if there.mean is not None:
        assert there.mean == -back.mean
    if there.low is not None:
        assert (there.low, there.high) == (-back.high, -back.low)


@given(PAIRS)
def test_the_sense_of_the_problem_turns_the_differences(pairs):
    """What a smaller objective gains under minimisation, it loses under maximisation."""
    arm, baseline = zip(*pairs, strict=True)
    least, most = paired(arm, baseline, sign=1.0), paired(arm, baseline, sign=-1.0)
    assert least.mean is None or least.mean == -most.mean
    unknown = [outcome(a, b, sign=1.0) for a, b in pairs if a is None or b is None]
    assert least.wins - unknown.count("win") == most.losses - unknown.count("loss")


@given(PAIRS, st.integers(-8, 8))
def test_scale_changes_units_and_nothing_else(pairs, power):
    """In other units (by a power of two, which is exact) differences scale and wins, ties, losses and p stay."""
    scale = 2.0**power
    arm, baseline = zip(*pairs, strict=True)
    scaled = [[None if v is None else v * scale for v in side] for side in (arm, baseline)]
    plain, other = paired(arm, baseline, sign=1.0), paired(*scaled, sign=1.0)
    assert (plain.wins, plain.ties, plain.losses, plain.p) == (other.wins, other.ties, other.losses, other.p)
    for name in ("mean", "low", "high"):
        value = getattr(plain, name)
        assert getattr(other, name) == (None if value is None else value * scale)


@given(SAMPLES)
def test_the_interval_of_symmetric_data_holds_the_mean(values):
    """Of values and their mirror images, the mean 0 is inside; and every interval lies within the data."""
    low, high = bootstrap_interval(np.array([*values, *(-value for value in values)]))
    assert low <= 0 <= high
    low, high = bootstrap_interval(np.array(values))
    assert min(values) - 1e-6 <= low <= high <= max(values) + 1e-6


@pytest.mark.parametrize(("count", "least", "most"), [(3, 0.68, 0.82), (5, 0.90, 0.96), (10, 0.925, 0.975)])
def test_the_interval_covers_the_truth_nearly_as_often_as_it_says(count, least, most):
    """Of 500 normal samples, seed 7, the share of 95 % intervals that hold the true mean."""
    rng = np.random.default_rng(7)
    intervals = [bootstrap_interval(rng.normal(size=count)) for _ in range(500)]
    assert least <= np.mean([low <= 0 <= high for low, high in intervals]) <= most


def test_the_interval_is_fixed_and_wants_two_values():
    """The same values give the same interval; one value gives none."""
    values = np.array([1.0, 2.0, 4.0, 8.0])
    assert bootstrap_interval(values) == bootstrap_interval(values.copy())
    with pytest.raises(ValueError, match="two values or more, got 1"):
        bootstrap_interval(values[:1])


@given(st.integers(2, 60))
def test_the_tails_go_further_out_with_fewer_values(count):
    """The expanded tail is below the nominal one and grows towards it."""
    assert 0 < expanded_tail(count, 0.025) < expanded_tail(count + 1, 0.025) < 0.025


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(1, 12.7062), (2, 4.30265), (4, 2.77645), (9, 2.26216), (30, 2.04227)]
)
def test_students_quantiles_are_those_of_the_tables(freedom, quantile):
    """97.5 % quantiles as printed in textbooks, for odd and even degrees of freedom."""
    assert student_quantile(0.975, freedom) == pytest.approx(quantile, rel=1e-5)


@given(st.integers(1, 40), st.floats(0, 20))
def test_students_distribution_rises_from_one_half(freedom, t):
    """It is 1/2 at 0 and never falls."""
    assert student_cdf(0.0, freedom) == 0.5
    here, further = student_cdf(t, freedom), student_cdf(t + 0.5, freedom)
    assert 0.5 - 1e-12 <= here <= further + 1e-12 <= 1 + 2e-12


def test_the_sign_test_is_exact():
    """5 of 5 is 2/32, 4 of 5 is 12/32, an even split is 1, and so is nothing at all."""
    assert [sign_test(*split) for split in ((5, 0), (0, 5), (4, 1), (3, 3), (0, 0))] == [
        0.0625,
        0.0625,
        0.375,
        1.0,
        1.0,
    ]


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_sign_test_is_a_probability_and_symmetric(wins, losses):
    """And one more win of the leading side never raises it."""
    p = sign_test(wins, losses)
    assert 0 < p <= 1
    assert p == sign_test(losses, wins)
    assert sign_test(max(wins, losses) + 1, min(wins, losses)) <= p


def test_the_gap_gain_is_the_published_one():
    """TSP50 of table 5: from 6.5450 to 6.4631 at the optimum 5.6750 is 10.39 %; without a gap above 0 there is none."""
    assert gap_gain(6.4631 - 5.6750, 6.5450 - 5.6750) == pytest.approx(0.1039, abs=5e-5)
    assert [gap_gain(*gaps) for gaps in ((0.0, 0.1), (0.1, 0.0), (None, 0.1), (0.1, None), (-0.1, 0.1))] == [None] * 5


def test_ties_have_a_tolerance_and_a_missing_value_loses():
    """A billionth of the value is a tie; every number beats none."""
    assert outcome(1.0, 1.0 + 1e-10, sign=1.0) == "tie"
    assert outcome(1.0, 1.0 + 1e-8, sign=1.0) == "win"
    assert outcome(2.0, 1.0, sign=-1.0) == "win"
    assert [outcome(*values, sign=1.0) for values in ((None, 1.0), (1.0, None), (None, None))] == ["loss", "win", "tie"]


def test_a_pair_without_a_value_counts_but_is_not_averaged():
    """The mean is over pairs of which both values are known."""
    found = paired([1.0, None, 3.0], [2.0, 9.0, 5.0], sign=1.0)
    assert (found.count, found.mean, found.wins, found.losses) == (2, 1.5, 2, 1)
    assert found.sd == pytest.approx(math.sqrt(0.5))
