import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo import noise
from coevo.block import Block
from coevo.es import ESSettings, EvolutionStrategy
from coevo.interfaces import Partition, Update

RUN = 0xC0FFEE
REWARDS = st.lists(st.integers(-100, 100), min_size=2, max_size=24).filter(lambda rewards: len(set(rewards)) > 1)


def told(members, rewards):
    """Rewards by member identity."""
    return dict(zip((member.identity for member in members), rewards, strict=True))


def one_step(settings, rewards, sigma=1e-3):
    """The update of a fresh strategy for rewards in member order."""
    strategy = EvolutionStrategy(settings, RUN)
    return strategy.tell(told(strategy.ask(sigma, len(rewards)), rewards))


def test_every_ask_is_a_new_step_of_new_directions():
    """Steps count up, so the two steps of one generation never share noise."""
    strategy = EvolutionStrategy(ESSettings(members=3), RUN)
    seen = []
    for _ in range(2):
        members = strategy.ask(1e-3)
        strategy.tell(told(members, [1.0, 2.0, 3.0]))
        seen += [(member.run_key, member.step, member.direction, member.sign) for member in members]
    assert seen == [(RUN, 0, 0, 1), (RUN, 0, 1, 1), (RUN, 0, 2, 1), (RUN, 1, 0, 1), (RUN, 1, 1, 1), (RUN, 1, 2, 1)]


def test_antithetic_pairs_share_a_direction():
    """Members 2j and 2j + 1 go both ways along direction j, under different identities."""
    members = EvolutionStrategy(ESSettings(members=4, antithetic=True), RUN).ask(1e-3)
    assert [(member.direction, member.sign) for member in members] == [(0, 1), (0, -1), (1, 1), (1, -1)]
    assert [member.identity for member in members] == ["0.0+", "0.0-", "0.1+", "0.1-"]


def test_sigma_is_rounded_to_fp32():
    """The member carries the standard deviation that the kernel will use, so the history can state it exactly."""
    (member, _) = EvolutionStrategy(ESSettings(), RUN).ask(1e-3, 2)
    assert member.sigma == float(np.float32(1e-3))


@given(REWARDS)
def test_the_update_equals_the_numpy_statement(rewards):
    """Coefficients are (α/G)·ẑ, one per direction in order, rounded to fp32."""
    update = one_step(ESSettings(), rewards)
    values = np.array(rewards, float)
    expected = 5e-4 / len(values) * (values - values.mean()) / values.std()
    assert (update.run_key, update.step, update.directions) == (RUN, 0, tuple(range(len(values))))
    assert all(float(np.float32(coefficient)) == coefficient for coefficient in update.coefficients)
    np.testing.assert_allclose(update.coefficients, expected, rtol=1e-6, atol=1e-15)


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=1, max_size=12))
def test_antithetic_pairs_are_merged(pairs):
    """A direction's coefficient is (α/G)·(ẑ₊ − ẑ₋) with z-scores over all G members; pairs that cancel move nothing."""
    values = np.array(pairs, float).reshape(-1)
    update = one_step(ESSettings(antithetic=True), values.tolist())
    if (values[::2] == values[1::2]).all():
        assert update is None
        return
    scores = (values - values.mean()) / values.std()
    expected = 5e-4 / len(values) * (scores[::2] - scores[1::2])
    assert update.directions == tuple(range(len(pairs)))
    np.testing.assert_allclose(update.coefficients, expected, rtol=1e-6, atol=1e-15)


@given(st.lists(st.floats(-1e6, 1e6), min_size=4, max_size=12), st.randoms(use_true_random=False))
def test_the_order_of_telling_does_not_matter(rewards, random):
    """Rewards arrive as the engines finish; every order gives the same update to the bit."""
    first, second = (EvolutionStrategy(ESSettings(), RUN) for _ in range(2))
    pairs = list(told(first.ask(1e-3, len(rewards)), rewards).items())
    second.ask(1e-3, len(rewards))
    expected = first.tell(dict(pairs))
    random.shuffle(pairs)
    assert second.tell(dict(pairs)) == expected


def test_better_members_pull_and_worse_members_push():
    """Rewards are maximised: the best direction has a positive coefficient, the worst a negative one."""
    update = one_step(ESSettings(), [3.0, 1.0, 2.0])
    assert update.coefficients[0] > update.coefficients[2] > update.coefficients[1]
    assert update.coefficients[1] == -update.coefficients[0]


def test_alpha_follows_its_rule():
    """Under the proportional rule half of σ₀ halves the update, σ₀ itself leaves it as it is."""
    constant, proportional = ESSettings(), ESSettings(alpha_rule="proportional")
    full = one_step(constant, [1.0, 2.0]).coefficients
    assert one_step(constant, [1.0, 2.0], sigma=5e-4).coefficients == full
    assert one_step(proportional, [1.0, 2.0]).coefficients == full
    assert one_step(proportional, [1.0, 2.0], sigma=5e-4).coefficients == tuple(value / 2 for value in full)


@given(st.lists(st.sampled_from([1.0, 0.5, 0.125, 2.0]), min_size=1, max_size=6))
def test_a_run_wide_spread_keeps_steps_in_proportion(scales):
    """A step is as long as a published one times its spread over the widest so far: rewards that vanish move little."""
    ours, published = EvolutionStrategy(ESSettings(spread="run"), RUN), EvolutionStrategy(ESSettings(), RUN)
    for turn, scale in enumerate(scales):
        rewards = [scale * reward for reward in (1.0, 2.0, 4.0)]
        moved, full = (each.tell(told(each.ask(1e-3, 3), rewards)).coefficients for each in (ours, published))
        share = scale / max(scales[: turn + 1])
        assert moved == tuple(np.float32(share * value) for value in full)


def test_the_widest_spread_outlives_a_change_of_settings():
    """And equal rewards, which have none, leave it."""
    strategy = EvolutionStrategy(ESSettings(spread="run"), RUN)
    strategy.tell(told(strategy.ask(1e-3, 2), [0.0, 8.0]))
    strategy.tell(told(strategy.ask(1e-3, 2), [1.0, 1.0]))
    pending = strategy.ask(1e-3, 2)
    with pytest.raises(RuntimeError, match="step 2 awaits its rewards"):
        strategy.continued(ESSettings())
    strategy.tell(told(pending, [1.0, 1.0]))
    narrower = strategy.continued(ESSettings(spread="run", sigma=5e-4))
    assert (narrower.step, narrower.widest) == (3, 4.0)
    fresh = EvolutionStrategy(ESSettings(sigma=5e-4), RUN, step=3)
    moved, full = (each.tell(told(each.ask(5e-4, 2), [0.0, 1.0])).coefficients for each in (narrower, fresh))
    assert moved == tuple(value / 8 for value in full)


def test_no_update_at_sigma_zero_or_without_spread():
    """At σ = 0 the members are one model, and equal rewards say nothing: no update, but the step ends."""
    assert one_step(ESSettings(), [1.0, 2.0, 3.0], sigma=0.0) is None
    strategy = EvolutionStrategy(ESSettings(), RUN)
    assert strategy.tell(told(strategy.ask(1e-3), [0.3] * 10)) is None
    assert strategy.pending == ()
    assert strategy.ask(1e-3)[0].step == 1


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"0.1+": None}, r"are missing: 0\.1\+"),
        ({"0.7+": 1.0}, r"do not belong to this step: 0\.7\+"),
        ({"0.0-": 1.0}, r"do not belong to this step: 0\.0-"),
        ({"0.2+": math.nan}, r"have no finite reward: 0\.2\+"),
        ({"0.0+": math.inf, "0.1+": -math.inf}, r"have no finite reward: 0\.0\+, 0\.1\+"),
    ],
)
def test_rewards_that_do_not_fit_are_refused_by_name(change, text):
    """Missing, unknown and NaN members are named, and the step stays open for a correct answer."""
    strategy = EvolutionStrategy(ESSettings(), RUN)
    good = told(strategy.ask(1e-3, 3), [1.0, 2.0, 3.0])
    bad = {identity: reward for identity, reward in (good | change).items() if reward is not None}
    with pytest.raises(ValueError, match=text):
        strategy.tell(bad)
    assert isinstance(strategy.tell(good), Update)


def test_a_member_told_twice_is_refused():
    """Rewards as pairs may repeat a member; neither value is silently dropped."""
    strategy = EvolutionStrategy(ESSettings(), RUN)
    pairs = list(told(strategy.ask(1e-3, 2), [1.0, 2.0]).items())
    with pytest.raises(ValueError, match=r"are told twice: 0\.0\+"):
        strategy.tell([*pairs, pairs[0]])
    assert isinstance(strategy.tell(pairs), Update)


def test_ask_and_tell_take_turns():
    """Asking twice or telling twice is a fault of the caller, named as such."""
    strategy = EvolutionStrategy(ESSettings(), RUN)
    with pytest.raises(RuntimeError, match="call ask before tell"):
        strategy.tell({})
    members = strategy.ask(1e-3, 2)
    with pytest.raises(RuntimeError, match="step 0 awaits its rewards"):
        strategy.ask(1e-3)
    strategy.tell(told(members, [1.0, 2.0]))
    with pytest.raises(RuntimeError, match="call ask before tell"):
        strategy.tell(told(members, [1.0, 2.0]))


@pytest.mark.parametrize("sigma", [-1e-3, math.nan, math.inf, 1e39])
def test_impossible_sigmas_are_refused(sigma):
    """A standard deviation is finite, not negative, and fits into fp32."""
    with pytest.raises(ValueError, match="sigma must be finite"):
        EvolutionStrategy(ESSettings(), RUN).ask(sigma)


@pytest.mark.parametrize(("antithetic", "count"), [(False, 1), (False, 0), (True, 5)])
def test_impossible_member_counts_are_refused(antithetic, count):
    """One member has nothing to compare with, and a pair has two halves."""
    strategy = EvolutionStrategy(ESSettings(antithetic=antithetic), RUN)
    with pytest.raises(ValueError, match=r"got [015]$"):
        strategy.ask(1e-3, count)
    assert strategy.step == 0


@pytest.mark.parametrize(("run_key", "step"), [(-1, 0), (2**64, 0), (1, -1)])
def test_impossible_beginnings_are_refused(run_key, step):
    """Keys have 64 bits and steps count from 0."""
    with pytest.raises(ValueError, match="must"):
        EvolutionStrategy(ESSettings(), run_key, step=step)


def test_a_resumed_strategy_goes_on_where_it_stopped():
    """A strategy that starts at step k asks for the members an uninterrupted one would ask for."""
    strategy = EvolutionStrategy(ESSettings(), RUN)
    for _ in range(3):
        strategy.tell(told(strategy.ask(1e-3, 2), [1.0, 2.0]))
    assert EvolutionStrategy(ESSettings(), RUN, step=3).ask(5e-4) == strategy.ask(5e-4)


@pytest.mark.parametrize("antithetic", [False, True])
def test_ask_and_tell_climb_a_quadratic(antithetic):
    """With the real noise kernels the strategy finds the top of a hill in 20 dimensions, far better than it started."""
    settings = ESSettings(members=20, sigma=0.1, alpha=0.5, alpha_rule="proportional", antithetic=antithetic)
    strategy = EvolutionStrategy(settings, RUN)
    block = Block.whole("w", (20,))
    target, weights = np.linspace(-1, 1, 20, dtype=np.float32)[None], np.zeros((1, 20), np.float32)

    def reward(member):
        model = np.empty_like(weights)
        noise.perturb(weights, model, block, member)
        return -float(((model - target) ** 2).sum())

    before = float(np.linalg.norm(weights - target))
    for turn in range(150):
        members = strategy.ask(0.1 * 0.97**turn)
        update = strategy.tell({member.identity: reward(member) for member in members})
        noise.apply_update(weights, block, update, "master")
    assert float(np.linalg.norm(weights - target)) < before / 20


@pytest.mark.parametrize("antithetic", [False, True])
def test_members_are_dealt_to_subspaces(antithetic):
    """Member by member, or pair by pair: round-robin, with σ_k = √K·σ in fp32 and the partition named."""
    settings = ESSettings(members=16, subspaces=3, subspace_unit="tile", antithetic=antithetic)
    members = EvolutionStrategy(settings, RUN).ask(1e-3)
    assert [member.subspace for member in members] == [member.direction % 3 for member in members]
    assert {member.partition for member in members} == {Partition(3, "tile")}
    assert {member.sigma for member in members} == {float(np.float32(math.sqrt(3) * 1e-3))}


def test_a_single_subspace_is_plain_es():
    """With K = 1 nothing is cut: no partition, σ as asked, and separate z-scores are joint ones."""
    members = EvolutionStrategy(ESSettings(z_scores="separate"), RUN).ask(1e-3)
    assert {(member.partition, member.subspace, member.sigma) for member in members} == {(None, 0, members[0].sigma)}
    rewards = [3.0, 1.0, 2.0, 2.5]
    assert one_step(ESSettings(z_scores="separate"), rewards) == one_step(ESSettings(), rewards)
    assert one_step(ESSettings(), rewards).subspaces == ()


def test_low_rank_is_named_by_members_and_update():
    """The rank goes with both, so that engine and replay make the same noise."""
    strategy = EvolutionStrategy(ESSettings(rank=2), RUN)
    members = strategy.ask(1e-3)
    assert {member.rank for member in members} == {2}
    assert strategy.tell(told(members, range(10))).rank == 2


@given(st.lists(st.integers(-100, 100), min_size=8, max_size=23), st.booleans())
def test_each_subspace_shares_alpha_among_its_own_members(rewards, antithetic):
    """Coefficients are (α/N_k)·ẑ·s with joint ẑ and the N_k of the member's own subspace (CoPES, section 3)."""
    rewards = rewards[: len(rewards) // 2 * 2]
    update = one_step(ESSettings(members=8, subspaces=4, antithetic=antithetic), rewards)
    values = np.array(rewards, float)
    if (values[::2] == values[1::2]).all() if antithetic else len(set(rewards)) == 1:
        assert update is None
        return
    scores = (values - values.mean()) / values.std()
    subspaces = np.arange(len(values)) // (2 if antithetic else 1) % 4
    weights = 5e-4 / np.bincount(subspaces)[subspaces] * scores
    expected = weights[::2] - weights[1::2] if antithetic else weights
    assert update.partition == Partition(4)
    assert update.subspaces == tuple(direction % 4 for direction in update.directions)
    np.testing.assert_allclose(update.coefficients, expected, rtol=1e-6, atol=1e-15)


@given(st.permutations(range(8)), st.lists(st.integers(-9, 9), min_size=8, max_size=8, unique=True))
def test_joint_scores_do_not_ask_who_sits_where(order, rewards):
    """P25: whichever subspace a reward falls into, it weighs the same: all members are standardised together."""
    settings = ESSettings(members=8, subspaces=2)
    straight, permuted = one_step(settings, rewards), one_step(settings, [rewards[place] for place in order])
    assert permuted.coefficients == tuple(straight.coefficients[place] for place in order)


def test_separate_scores_do():
    """P25, the ablation: standardised apart, the better subspace no longer outweighs the other."""
    rewards = [100.0, 1.0, 101.0, 2.0, 102.0, 3.0, 103.0, 4.0]
    joint, separate = (
        one_step(ESSettings(members=8, subspaces=2, z_scores=which), rewards) for which in ("joint", "separate")
    )
    assert min(joint.coefficients[::2]) > 0 > max(joint.coefficients[1::2])
    assert separate.coefficients[::2] == separate.coefficients[1::2]


def test_a_flat_subspace_stays_under_separate_scores():
    """P24: the members of a subspace that all earned the same do not move it; the other subspace moves."""
    settings = ESSettings(members=6, subspaces=2, z_scores="separate")
    update = one_step(settings, [5.0, 1.0, 5.0, 2.0, 5.0, 3.0])
    assert update.coefficients[::2] == (0.0, 0.0, 0.0)
    assert update.coefficients[1] < 0 < update.coefficients[5]
    assert one_step(settings, [5.0, 1.0, 5.0, 1.0, 5.0, 1.0]) is None


def test_no_update_in_subspaces_at_sigma_zero_or_without_spread():
    """P24: what holds for one subspace holds for several."""
    settings = ESSettings(members=8, subspaces=4)
    assert one_step(settings, range(8), sigma=0.0) is None
    assert one_step(settings, [1.0] * 8) is None


def test_a_smaller_step_is_possible_while_every_subspace_can_compare():
    """A last batch may be smaller than the settings say, down to two members in each subspace."""
    strategy = EvolutionStrategy(ESSettings(members=16, subspaces=4), RUN)
    assert [count for count in range(12) if strategy.can_ask(count)] == [8, 9, 10, 11]
    with pytest.raises(ValueError, match="each of 4 subspaces needs 2 members: expected 8 or more, got 7"):
        strategy.ask(1e-3, 7)
    assert strategy.step == 0
    pairs = EvolutionStrategy(ESSettings(members=16, subspaces=4, antithetic=True), RUN)
    assert [count for count in range(12) if pairs.can_ask(count)] == [8, 10]


def test_a_sigma_that_overflows_in_its_subspace_is_refused():
    """√K·σ has to fit as well."""
    with pytest.raises(ValueError, match="sigma must be finite"):
        EvolutionStrategy(ESSettings(members=8, subspaces=4), RUN).ask(3e38)
