import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from coevo import noise
from coevo.interfaces import Partition, Update
from coevo.noise import oracle
from coevo.noise.basis import Basis

RULES = [
    (np.float32, "master"),
    (np.uint16, "nearest"),
    (np.uint16, "stochastic"),
    (np.float16, "nearest"),
]


def updated(weights, block, update, rule="master"):
    """An updated copy through the compiled kernel."""
    moved = weights.copy()
    noise.apply_update(moved, block, update, rule)
    return moved


@pytest.mark.parametrize(("dtype", "rule"), RULES)
@given(data=st.data())
def test_update_equals_the_oracle(blocks, updates, weights, dtype, rule, data):
    """P18: the fp32 sum in the order given, one addition, one rounding, over the subspaces' own directions."""
    block, update = data.draw(blocks), data.draw(updates())
    assume(block.row < 10**6 or update.rank == 0)
    moved = weights(block, dtype, gap=data.draw(st.sampled_from([0, 3])))
    with np.errstate(over="ignore", invalid="ignore"):
        expected = oracle.updated(moved, block, update, rule)
    noise.apply_update(moved, block, update, rule)
    assert moved.tobytes() == expected.tobytes()


@given(data=st.data())
def test_cuts_never_change_a_bit(blocks, updates, weights, cuts, data):
    """P10, P16, P18: shards that update themselves, rounding at random, make up the updated tensor to the bit."""
    block, update = data.draw(blocks), data.draw(updates())
    assume(block.row < 10**6 or update.rank == 0)
    parts = weights(block, np.uint16)
    expected = updated(parts, block, update, "stochastic")
    for piece, down, across in data.draw(cuts(block)):
        noise.apply_update(parts[down, across], piece, update, "stochastic")
    assert parts.tobytes() == expected.tobytes()


def test_the_order_of_the_directions_is_part_of_an_update(whole):
    """P18: fp32 addition is not associative, so the recorded order must be replayed."""
    block, base = whole("w", 4096), np.zeros((1, 4096), np.float32)
    update = Update(1, 0, (1, 2, 3, 4), (1.0, 1e-3, -1.0, 0.7))
    turned = replace(update, directions=update.directions[::-1], coefficients=update.coefficients[::-1])
    forward, backward = updated(base, block, update), updated(base, block, turned)
    assert forward.tobytes() != backward.tobytes()
    np.testing.assert_allclose(forward, backward, atol=1e-5)


def test_with_fp32_weights_all_rules_are_the_same(weights, whole):
    """There is nothing to round in fp32, at random or otherwise."""
    block, update = whole("w", 3000), Update(1, 0, (0, 1), (0.1, 0.2))
    found = {updated(weights(block), block, update, rule).tobytes() for rule in ("master", "nearest", "stochastic")}
    assert len(found) == 1


def test_an_update_without_directions_changes_nothing(weights, whole):
    """No direction, no movement."""
    block = whole("w", 100)
    before = weights(block, np.uint16)
    assert updated(before, block, Update(1, 0, (), ()), "stochastic").tobytes() == before.tobytes()


def through(implementation, weights, block, update, rule, basis=None):
    """An updated copy of weights, by the kernels or by the oracle."""
    if implementation is oracle:
        return oracle.updated(weights, block, update, rule, basis)
    moved = weights.copy()
    noise.apply_update(moved, block, update, rule, basis=basis)
    return moved


@pytest.mark.parametrize("unit", ["element", "tile"])
@pytest.mark.parametrize(("dtype", "rule"), RULES)
def test_what_no_direction_holds_keeps_its_bits(weights, whole, unit, dtype, rule):
    """An element of a subspace without directions is not even rounded: -0.0 stays -0.0."""
    block, partition = whole("w", 12, 4096), Partition(3, unit)
    before = weights(block, dtype)
    before[:, ::5] = 0x8000 if dtype == np.uint16 else -0.0
    update = Update(7, 1, (0, 1, 2), (0.3, -0.2, 0.1), partition, (2, 0, 2))
    bits = "u2" if before.itemsize == 2 else "u4"
    moved = updated(before, block, update, rule).view(bits) != before.view(bits)
    idle = oracle.subspaces(block, 7, 1, partition) == 1
    assert idle.any()
    assert not moved[idle].any()
    assert moved[~idle].mean() > 0.5


@pytest.mark.parametrize("rank", [0, 2])
@pytest.mark.parametrize("unit", ["element", "tile", None])
@pytest.mark.parametrize(("dtype", "rule"), RULES)
@pytest.mark.parametrize("implementation", [noise, oracle])
def test_what_is_moved_by_nothing_keeps_its_bits(weights, whole, implementation, dtype, rule, unit, rank):
    """Coefficients of 0, of either sign, and coefficients that cancel: -0.0 stays -0.0, as does every other number."""
    block, partition = whole("w", 12, 4096), unit and Partition(3, unit)
    before = weights(block, dtype)
    before[:, ::5] = 0x8000 if dtype == np.uint16 else -0.0
    before[np.isnan(oracle.to_fp32(before))] = 0
    subspaces = (0, 1, 1, 2) if unit else ()
    still = Update(7, 1, (0, 1, 1, 2), (0.0, 0.25, -0.25, -0.0), partition, subspaces, rank)
    assert through(implementation, before, block, still, rule).tobytes() == before.tobytes()
    moving = replace(still, coefficients=(0.3, 0.25, -0.25, -0.0))
    after = through(implementation, before, block, moving, rule)
    bits = "u2" if before.itemsize == 2 else "u4"
    changed = after.view(bits) != before.view(bits)
    holds = oracle.subspaces(block, 7, 1, partition) == 0
    assert not changed[~holds].any()
    assert changed[holds].mean() > 0.3


@pytest.mark.parametrize(("dtype", "rule"), RULES)
@pytest.mark.parametrize("implementation", [noise, oracle])
def test_what_a_basis_does_not_reach_keeps_its_bits(weights, whole, make_basis, implementation, dtype, rule):
    """An element whose guided noise is zero is not moved, whatever the coefficients."""
    block = whole("w", 6, 512)
    basis = make_basis({"w": (6, 512)})
    part = basis.parts["w"]
    right = part.right.copy()
    right[:, ::2] = 0
    basis = Basis.of({"w": part._replace(right=right)}, basis.mixing, basis.origin)
    before = weights(block, dtype)
    before[:, ::4] = 0x8000 if dtype == np.uint16 else -0.0
    before[np.isnan(oracle.to_fp32(before))] = 0
    update = Update(7, 1, (0, 1), (0.5, 0.25), basis=basis.identity)
    after = through(implementation, before, block, update, rule, basis)
    assert after[:, ::2].tobytes() == before[:, ::2].tobytes()
    assert after[:, 1::2].tobytes() != before[:, 1::2].tobytes()


def test_small_steps_survive_stochastic_rounding_and_not_the_nearest(whole):
    """Steps of a twelfth of the distance of two bfloat16 numbers arrive in the mean when rounded at random only."""
    count = 4000
    block, start = whole("w", count), int(np.float32(0.02).view(np.uint32) >> 16)
    at_random, to_nearest = np.full((1, count), start, np.uint16), np.full((1, count), start, np.uint16)
    for step in range(100):
        tiny = Update(3, step, (0,), (1e-5,))
        noise.apply_update(at_random, block, tiny, "stochastic")
        noise.apply_update(to_nearest, block, tiny, "nearest")
    assert (to_nearest == start).all()
    drift = oracle.to_fp32(at_random).astype(np.float64) - float(oracle.to_fp32(to_nearest)[0, 0])
    exact = 1e-5 * sum(noise.normals(block, 3, step, 0).astype(np.float64) for step in range(100))
    spread = math.sqrt(100 * 2.0**-13 * 1e-5)  # of one element after 100 roundings on a grid of 2⁻¹³
    assert abs((drift - exact).mean()) < 4 * spread / math.sqrt(count)
    assert abs((drift * exact).sum() / (exact * exact).sum() - 1.0) < 4 * spread / (1e-4 * math.sqrt(count))


def test_random_rounding_shares_no_bits_with_the_noise_or_another_step(whole):
    """Zero weights that receive the same sums are rounded independently of the noise and anew in every step."""
    block, count = whole("w", 40_000), 40_000
    rounded = []
    for step in (0, 1):
        moved = np.full((1, count), 0x3F80, np.uint16)
        update = Update(3, step, (0,), (1e-3,))
        noise.apply_update(moved, block, update, "stochastic")
        epsilon = noise.normals(block, 3, step, 0)[0].astype(np.float64)
        rounded.append(oracle.to_fp32(moved)[0] - 1.0 - 1e-3 * epsilon)
        assert abs(np.corrcoef(rounded[-1], epsilon)[0, 1]) < 4 / math.sqrt(count)
    assert abs(np.corrcoef(*rounded)[0, 1]) < 4 / math.sqrt(count)


@pytest.mark.parametrize(
    ("dtype", "rule", "change", "text"),
    [
        (np.uint16, "master", {}, "the rule master updates float32 weights, got uint16"),
        (np.float16, "stochastic", {}, "stochastic rounding is defined for bfloat16 .* got float16"),
        (np.float32, "round", {}, "master, stochastic or nearest, got 'round'"),
        (np.float32, "master", {"coefficients": (0.5,)}, "one coefficient per direction, got 1 for 2"),
        (np.float32, "master", {"coefficients": (0.5, math.inf)}, "coefficients must be finite"),
        (np.float32, "master", {"directions": (1, 2**64)}, "direction must be a whole number"),
        (np.float32, "master", {"partition": Partition(3)}, "expected 2 subspaces for 2 directions, got 0"),
        (np.float32, "master", {"subspaces": (0, 0)}, "expected 0 subspaces for 2 directions, got 2"),
        (np.float32, "master", {"partition": Partition(3), "subspaces": (0, 3)}, r"in \[0, 3\), got 3"),
        (np.float32, "master", {"rank": -2}, "rank must not be negative, got -2"),
    ],
)
def test_update_refuses(whole, dtype, rule, change, text):
    """A half-specified update never touches the weights."""
    moved = np.ones((1, 4), dtype)
    with pytest.raises(ValueError, match=text):
        noise.apply_update(moved, whole("w", 4), replace(Update(1, 2, (0, 1), (0.5, 0.25)), **change), rule)
    assert (moved == 1).all()


def test_read_only_weights_are_refused(whole):
    """Weights that cannot be written are told before anything is computed."""
    frozen = np.zeros((1, 4), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="weights must be writeable"):
        noise.apply_update(frozen, whole("w", 4), Update(1, 2, (0,), (0.5,)), "master")
