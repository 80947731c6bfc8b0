import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.es import z_scores
from coevo.es.shaping import z_scores_within

REWARDS = st.lists(st.integers(-1000, 1000), min_size=2, max_size=30).filter(lambda values: len(set(values)) > 1)


def test_a_hand_computed_example():
    """Rewards 1, 2, 3 have mean 2 and population variance 2/3."""
    np.testing.assert_allclose(z_scores([1.0, 2.0, 3.0]), [-math.sqrt(1.5), 0.0, math.sqrt(1.5)], rtol=1e-15)


@given(REWARDS)
def test_scores_equal_the_numpy_statement(rewards):
    """The scores are (r - mean) / population standard deviation."""
    values = np.array(rewards, float)
    np.testing.assert_allclose(z_scores(rewards), (values - values.mean()) / values.std(), rtol=1e-9, atol=1e-12)


@given(REWARDS, st.floats(1e-6, 1e6), st.floats(-1e3, 1e3))
def test_scale_and_offset_do_not_matter(rewards, scale, offset):
    """A reward in other units, from another zero, gives the same scores."""
    moved = [scale * reward + offset for reward in rewards]
    tolerance = 1e-13 * (1 + abs(offset) / scale)
    np.testing.assert_allclose(z_scores(moved), z_scores(rewards), rtol=0, atol=max(tolerance, 1e-9))


@given(REWARDS, st.randoms(use_true_random=False))
def test_order_does_not_matter_to_the_last_bit(rewards, random):
    """A permutation of the rewards permutes the scores and changes none."""
    order = list(range(len(rewards)))
    random.shuffle(order)
    assert z_scores([rewards[i] for i in order]).tolist() == z_scores(rewards)[order].tolist()


@pytest.mark.parametrize("rewards", [[], [3.0], [0.0, 0.0], [0.1] * 30, [-0.0, 0.0], [1e300] * 3])
def test_no_spread_gives_none(rewards):
    """Equal rewards carry no direction: None, rather than noise blown up by a tiny divisor."""
    assert z_scores(rewards) is None


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_rewards_that_are_no_numbers_are_refused(bad):
    """One NaN would poison every score of the step."""
    with pytest.raises(ValueError, match="rewards must be finite"):
        z_scores([1.0, bad, 2.0])


@pytest.mark.parametrize("unit", [5e-324, 1e-300, 1.0, 1e300, 1.7e308])
def test_extreme_units_neither_overflow_nor_vanish(unit):
    """Scores of two opposite rewards are -1 and 1 whatever their size."""
    assert z_scores([-unit, unit]).tolist() == [-1.0, 1.0]


def test_a_small_spread_around_a_large_offset_is_kept():
    """Differences in the last place of the rewards still give exact scores."""
    assert z_scores([1e15, 1e15 + 1, 1e15 + 2]).tolist() == z_scores([0, 1, 2]).tolist()


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(0, 3)), min_size=1, max_size=30))
def test_separate_scores_are_the_scores_of_each_group(pairs):
    """Every group is standardised by itself; one without spread scores 0, and without any spread there is nothing."""
    rewards, groups = [float(reward) for reward, _ in pairs], [group for _, group in pairs]
    expected = np.zeros(len(pairs))
    for group in range(4):
        own = [place for place, its in enumerate(groups) if its == group]
        inside = z_scores([rewards[place] for place in own]) if own else None
        if inside is not None:
            expected[own] = inside
    found = z_scores_within(rewards, groups)
    if not expected.any():
        assert found is None
    else:
        np.testing.assert_array_equal(found, expected)
