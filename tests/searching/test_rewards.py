import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.candidate import Candidate, Evaluation
from coevo.evolution.population import Scored
from coevo.interfaces import Member
from coevo.searching.breeding import Child
from coevo.searching.rewards import child_rewards, gains, member_rewards

RULES = ("difference", "cost", "rank")
PARENT = Scored(Candidate("# parent"), 7.0)


def child(cost, *, code="# child", direction=0, status="timeout"):
    """A child of PARENT; a cost of None makes it invalid."""
    evaluation = Evaluation(status) if cost is None else Evaluation("ok", cost=cost, objective=cost)
    candidate = Candidate(code, parents=(PARENT.candidate.identity,))
    return Child(candidate, evaluation, (PARENT,), Member(1, 0, direction, 1, 0.01))


def test_a_child_earns_what_it_improves():
    """Reward is parent cost minus child cost."""
    assert child_rewards([child(6.5), child(7.25)], worst=9.0) == [0.5, -0.25]


def test_the_best_parent_is_the_yardstick():
    """With two parents a child is measured against the better one."""
    two = (Scored(Candidate("# a"), 8.0), Scored(Candidate("# b"), 7.0))
    born = Child(Candidate("# c"), Evaluation("ok", cost=6.0, objective=6.0), two, None)
    assert child_rewards([born], worst=9.0) == [1.0]


def test_a_disaster_is_clipped_at_the_worst_of_the_population():
    """A valid child a hundred times worse than everything earns parent − worst."""
    assert child_rewards([child(700.0)], worst=9.0) == [-2.0]


def test_a_copy_of_a_parent_earns_nothing():
    """Repeating the parent is neither good nor bad, whatever the evaluation says."""
    assert child_rewards([child(6.0, code=PARENT.candidate.code)], worst=9.0) == [0.0]


@given(st.lists(st.none() | st.floats(0, 1e9), min_size=1, max_size=20), st.floats(7, 1e6))
def test_an_invalid_child_earns_less_than_every_valid_one(costs, worst):
    """However bad the valid children of a step are, failing is worse; without a valid one there is no reward."""
    rewards = child_rewards([child(cost) for cost in costs], worst)
    if all(cost is None for cost in costs):
        assert rewards is None
        return
    valid = [r for r, cost in zip(rewards, costs, strict=True) if cost is not None]
    failed = [r for r, cost in zip(rewards, costs, strict=True) if cost is None]
    assert all(math.isfinite(reward) for reward in rewards)
    assert not failed or max(failed) < min(valid)


def test_cost_is_the_rule_without_parents():
    """Without parents, and under the rule "cost", a child earns minus its cost, and a copy no more than that."""
    orphan = Child(Candidate("# c"), Evaluation("ok", cost=6.0, objective=6.0), (), None)
    assert child_rewards([orphan], worst=9.0) == [-6.0]
    rewards = child_rewards([child(6.5), child(8.0), child(7.0, code=PARENT.candidate.code)], worst=9.0, rule="cost")
    assert rewards == [-6.5, -8.0, -7.0]


def test_a_copy_can_count_as_invalid():
    """Then it earns less than every other child, under every rule; a step of copies teaches nothing."""
    copy = child(7.0, code=PARENT.candidate.code)
    for rule in RULES:
        good, bad, copied = child_rewards([child(6.0), child(8.5), copy], worst=9.0, rule=rule, copies="invalid")
        assert copied < bad < good
    assert child_rewards([copy], worst=9.0, copies="invalid") is None


@given(
    st.lists(st.none() | st.floats(0, 1e9), min_size=1, max_size=20), st.sampled_from(["difference", "cost", "rank"])
)
def test_every_rule_orders_valid_children_and_puts_invalid_ones_last(costs, rule):
    """A cheaper child never earns less, and failing earns least, whatever the rule."""
    rewards = child_rewards([child(cost) for cost in costs], worst=50.0, rule=rule)
    if all(cost is None for cost in costs):
        assert rewards is None
        return
    valid = sorted((cost, -reward) for cost, reward in zip(costs, rewards, strict=True) if cost is not None)
    assert [-reward for _, reward in valid] == sorted((-reward for _, reward in valid), reverse=True)
    failed = [reward for cost, reward in zip(costs, rewards, strict=True) if cost is None]
    assert not failed or max(failed) < min(-reward for _, reward in valid)


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=20))
def test_ranks_are_centred_and_bounded(costs):
    """Ranks lie in [-½, ½], and their mean over the step is 0: one disaster counts as one place."""
    rewards = child_rewards([child(cost) for cost in costs], worst=9.0, rule="rank")
    assert sum(rewards) == pytest.approx(0.0, abs=1e-9)
    assert max(map(abs, rewards)) <= 0.5


def test_a_member_earns_the_mean_of_its_children():
    """Children are grouped by the member that wrote them."""
    children = [child(6.0, direction=0), child(5.0, direction=1), child(8.0, direction=0), child(7.0, direction=1)]
    assert member_rewards(children, child_rewards(children, worst=9.0)) == pytest.approx({"0.0+": 0.0, "0.1+": 1.0})


@given(st.floats(-1e6, 1e6), st.integers(1, 9), st.integers(1, 9))
def test_members_whose_children_earned_the_same_earned_the_same(reward, few, many):
    """The mean of equal rewards is that reward to the bit, however many there are."""
    children = [child(1.0, direction=0)] * few + [child(1.0, direction=1)] * many
    earned = member_rewards(children, [reward] * (few + many))
    assert set(earned.values()) == {reward}


@given(st.lists(st.none() | st.floats(-1e3, 1e3), min_size=1, max_size=20), st.floats(-1e3, 1e3), st.booleans())
def test_gains_do_not_depend_on_where_costs_begin(costs, shift, has_parents):
    """A child that is better than what it started from gains, whatever constant is added to all costs."""
    parents = (PARENT,) if has_parents else ()
    moved = (Scored(PARENT.candidate, PARENT.cost + shift),) if has_parents else ()

    def born(cost, own):
        evaluation = Evaluation("timeout") if cost is None else Evaluation("ok", cost=cost, objective=cost)
        return Child(Candidate("# c"), evaluation, own, None)

    plain = gains([born(cost, parents) for cost in costs])
    shifted = gains([born(None if cost is None else cost + shift, moved) for cost in costs])
    if plain is None:
        assert shifted is None
        return
    assert shifted == pytest.approx(plain, abs=1e-6)
    valid = [gain for gain, cost in zip(plain, costs, strict=True) if cost is not None]
    assert all(gain < min(valid) for gain, cost in zip(plain, costs, strict=True) if cost is None)


def test_without_parents_the_median_of_the_batch_is_the_yardstick():
    """So of new heuristics some gain and some lose, of a minimised objective as of a maximised one."""
    for costs in ([5.0, 6.0, 9.0], [-9.0, -6.0, -5.0]):
        children = [Child(Candidate("# c"), Evaluation("ok", cost=c, objective=c), (), None) for c in costs]
        assert [gain > 0 for gain in gains(children)] == [True, False, False]
