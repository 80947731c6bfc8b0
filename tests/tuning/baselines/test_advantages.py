"""How good turns were."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.tuning.baselines.advantages import group_advantages, standardised, turn_advantages

NUMBERS = st.floats(-100, 100, allow_nan=False)
SCORES = st.lists(st.integers(-20, 20).map(float), min_size=1, max_size=12)


@given(SCORES)
def test_advantages_have_mean_zero_and_keep_the_order(scores):
    """Nothing is pushed up without something being pushed down, and the better episode never has less."""
    found = standardised(scores)
    assert abs(found.mean()) < 1e-9
    assert np.array_equal(np.argsort(scores, kind="stable"), np.argsort(found, kind="stable"))
    assert np.std(found) == pytest.approx(1, abs=1e-5) if len(set(scores)) > 1 else np.all(found == 0)


@given(SCORES, st.integers(-50, 50), st.floats(0.5, 50))
def test_the_scale_of_scores_does_not_matter(scores, shift, factor):
    """Adding a number to all scores, or multiplying them, changes nothing beyond the tiny number in the divisor."""
    found = standardised([shift + factor * score for score in scores])
    assert np.allclose(found, standardised(scores), atol=1e-4)


@given(SCORES, st.floats(-1, 1))
def test_equal_scores_teach_nothing(scores, value):
    """A group whose scores are all the same has advantages of exactly 0, whatever other groups have."""
    groups = ["mixed"] * len(scores) + ["equal"] * 5
    found = group_advantages(groups, [*scores, *[value] * 5])
    assert np.all(found[len(scores) :] == 0)
    assert np.array_equal(found[: len(scores)], standardised(scores))


def test_groups_are_told_apart_by_name():
    """Episodes of a task need not be neighbours."""
    found = group_advantages(["a", "b", "a", "b"], [0.0, 5.0, 1.0, 9.0])
    assert found == pytest.approx([-1, -1, 1, 1], abs=1e-5)


@given(
    st.lists(NUMBERS, min_size=1, max_size=9),
    NUMBERS,
    st.floats(0.01, 1),
    st.floats(0, 1),
)
def test_turn_advantages_are_those_of_their_definition(values, score, discount, decay):
    """The backward recursion gives the sum over later turns, written out."""
    turns = len(values)
    after = [*values[1:], 0.0]
    deltas = [(score if t == turns - 1 else 0.0) + discount * after[t] - values[t] for t in range(turns)]
    plain = [sum((discount * decay) ** (u - t) * deltas[u] for u in range(t, turns)) for t in range(turns)]
    assert np.allclose(turn_advantages(values, score, discount, decay), plain, atol=1e-6)


@given(st.lists(NUMBERS, min_size=1, max_size=9), NUMBERS)
def test_without_decay_the_target_of_every_value_is_the_score(values, score):
    """At λ = γ = 1 advantages plus values are the score at every turn."""
    assert np.allclose(turn_advantages(values, score, 1.0, 1.0) + values, score, atol=1e-9)
