"""What children of fixed parents earn, and what a measurement says."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.candidate import Candidate, Evaluation
from coevo.evolution.population import Scored
from coevo.experiments.probe_rewards import Measurement, child_reward, scale_of, standard_error
from coevo.searching.breeding import Child

costs = st.floats(-1e6, 1e6)


def child_of(parent_cost, cost, code="child"):
    """A child of one parent; without a cost it is infeasible."""
    parent = Scored(Candidate("parent"), parent_cost)
    evaluation = Evaluation("infeasible", "no") if cost is None else Evaluation("ok", "", cost, cost)
    return Child(Candidate(code, "", "m1", (parent.candidate.identity,)), evaluation, (parent,), None)


def test_a_reward_is_the_saving_in_units_of_the_scale():
    """Half of the scale saved is half a point; half of it lost is half a point less."""
    assert child_reward(child_of(10.0, 8.0), 4.0) == 0.5
    assert child_reward(child_of(10.0, 12.0), 4.0) == -0.5


def test_an_invalid_child_earns_the_least():
    """Invalid children and answers without a program earn −1."""
    assert child_reward(child_of(10.0, None), 4.0) == -1.0
    assert child_reward(Child(None, Evaluation("invalid", "no program"), (), None), 4.0) == -1.0


def test_a_copy_earns_nothing():
    """A copy of the parent earns 0, whatever noise its cost has."""
    assert child_reward(child_of(10.0, 9.0, code="parent"), 4.0) == 0.0


@given(costs, costs, st.floats(1e-6, 1e6))
def test_rewards_are_clipped_and_in_order(parent, cost, scale):
    """Rewards lie in [−1, 1], are positive exactly for a saving, and an equal cost earns 0."""
    reward = child_reward(child_of(parent, cost), scale)
    assert -1.0 <= reward <= 1.0
    assert child_reward(child_of(parent, parent), scale) == 0.0
    assert reward >= 0 if cost <= parent else reward <= 0


def test_the_scale_is_the_range_of_the_costs():
    """Worst minus best; parents that do not differ have no scale."""
    assert scale_of([3.0, 1.0, 7.0]) == 6.0
    for same in ([2.0, 2.0], [1.0, math.inf]):
        with pytest.raises(ValueError, match="differ in cost"):
            scale_of(same)


def test_a_measurement_counts_what_it_says():
    """Valid, better and different children of a set worked out by hand; a repeated program counts once."""
    children = [child_of(10, 8, "a"), child_of(10, 8, "a"), child_of(10, 12, "b"), child_of(10, None, "c")]
    found = Measurement.of(children, 4.0)
    assert found.rewards == (0.5, 0.5, -0.5, -1.0)
    assert (found.valid, found.improved, found.distinct) == (0.75, 0.5, 3)
    assert found.mean == pytest.approx(-0.125)
    assert found.standard_error == pytest.approx(np.std(found.rewards, ddof=1) / 2)


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), min_size=2, max_size=30))
def test_a_change_is_paired(pairs):
    """The change is the mean of the differences; its error is theirs, so what pairs have in common drops out."""
    before, after = (Measurement(tuple(values), 1.0, 0.0, 1) for values in zip(*pairs, strict=True))
    change, error = after.change_since(before)
    assert change == pytest.approx(after.mean - before.mean, abs=1e-12)
    assert error == pytest.approx(standard_error(np.array(after.rewards) - np.array(before.rewards)))
    assert before.change_since(before) == (0.0, 0.0)
