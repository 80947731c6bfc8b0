import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from coevo import noise
from coevo.block import Block
from coevo.interfaces import Member, Partition
from coevo.noise import oracle

TYPES = [(np.float32, np.float32), (np.uint16, np.uint16), (np.float16, np.float16)]
ROUNDED = [(np.float32, np.uint16), (np.float32, np.float16)]
WORDS = st.integers(0, 2**64 - 1)


def perturbed(base, block, member, dtype=None):
    """A perturbed copy through the compiled kernel, in the base's type or another."""
    out = np.full(base.shape, 77, dtype or base.dtype)
    noise.perturb(base, out, block, member)
    return out


@given(data=st.data(), run_key=WORDS, step=WORDS, direction=WORDS)
def test_normals_equal_the_oracle(blocks, data, run_key, step, direction):
    """The kernel and the definition agree bit for bit, for any block and any 64-bit numbers."""
    block = data.draw(blocks)
    found = noise.normals(block, run_key, step, direction)
    assert found.dtype == np.float32
    assert found.tobytes() == oracle.normals(block, run_key, step, direction).tobytes()


@pytest.mark.parametrize(("base_type", "out_type"), TYPES + ROUNDED)
@given(data=st.data())
def test_perturb_equals_the_oracle(blocks, members, weights, base_type, out_type, data):
    """P28: of any rank, subspace, type and memory layout, a member is what the definition says."""
    block, member = data.draw(blocks), data.draw(members())
    assume(block.row < 10**6 or member.rank == 0)
    base = weights(block, base_type, gap=data.draw(st.sampled_from([0, 3])))
    room = np.full((block.rows, block.cols + data.draw(st.sampled_from([0, 5]))), 77, out_type)
    before = base.copy()
    noise.perturb(base, room[:, : block.cols], block, member)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = oracle.perturbed(base, block, member, out_type)
    assert room[:, : block.cols].tobytes() == expected.tobytes()
    assert (room[:, block.cols :] == 77).all()
    assert base.tobytes() == before.tobytes()


def test_a_fused_multiply_add_would_be_noticed(weights, whole):
    """The values of these tests do tell two roundings from one: an fma gives other bits."""
    block = whole("w", 4096)
    base = weights(block)
    epsilon = noise.normals(block, 1, 0, 0).astype(np.float64)
    fused = (base + np.float64(np.float32(0.3)) * epsilon).astype(np.float32)
    assert fused.tobytes() != perturbed(base, block, Member(1, 0, 0, 1, 0.3)).tobytes()


@given(data=st.data())
def test_cuts_never_change_a_bit(blocks, members, weights, cuts, data):
    """P10, P16: shards and chunks of any size make up the tensor to the bit."""
    block, member = data.draw(blocks), data.draw(members())
    assume(block.row < 10**6 or member.rank == 0)
    base = weights(block, np.uint16)
    parts = np.zeros_like(base)
    for piece, down, across in data.draw(cuts(block)):
        noise.perturb(base[down, across], parts[down, across], piece, member)
    assert parts.tobytes() == perturbed(base, block, member).tobytes()


@pytest.mark.parametrize("num_threads", [1, 2, 3, 8])
def test_threads_never_change_a_bit(weights, whole, num_threads):
    """P16: pieces worked on by several threads at once give the bytes of one thread."""
    block, member = whole("w", 50_001), Member(5, 0, 0, 1, 1e-3)
    base = weights(block, np.uint16)
    parts = np.empty_like(base)
    with ThreadPoolExecutor(num_threads) as pool:
        jobs = [
            pool.submit(noise.perturb, base[down, across], parts[down, across], piece, member)
            for piece, down, across in block.pieces(5003)
        ]
        assert [job.result() for job in jobs] == [None] * 10
    assert parts.tobytes() == perturbed(base, block, member).tobytes()


@given(sigma=st.floats(2.0**-20, 1.0, width=32))
def test_the_other_half_of_a_pair_mirrors(whole, sigma):
    """At base 0 the antithetic member is the exact negative."""
    block, member = whole("w", 500), Member(8, 9, 10, 1, sigma)
    base = np.zeros((1, 500), np.float32)
    plus, minus = perturbed(base, block, member), perturbed(base, block, replace(member, sign=-1))
    assert plus.any()
    assert (plus == -minus).all()


def test_sigma_zero_gives_the_base(weights, whole):
    """A member of standard deviation 0 is the base, but for the sign of zeros, which follows IEEE addition."""
    block = whole("w", 777)
    base = weights(block)
    base[base == 0] = 0.0
    assert perturbed(base, block, Member(8, 0, 0, 1, 0.0)).tobytes() == base.tobytes()


def test_negative_zero_is_not_taken_for_zero(whole):
    """P28: sigma -0.0 right after 0.0 mirrors the signs of the products, which sums with -0.0 let through."""
    block, base = whole("w", 500), np.full((1, 500), -0.0, np.float32)
    for sigma in (0.0, -0.0, 0.0):
        member = Member(8, 9, 10, 1, sigma)
        assert perturbed(base, block, member).tobytes() == oracle.perturbed(base, block, member, np.float32).tobytes()
    negative = np.signbit(perturbed(base, block, Member(8, 9, 10, 1, 0.0)))
    assert (negative != np.signbit(perturbed(base, block, Member(8, 9, 10, 1, -0.0)))).all()


def test_what_is_kept_for_the_next_call_is_of_this_member(weights, whole):
    """P28: members, steps and layouts that take turns on the same blocks never receive each other's noise."""
    block, base = whole("w", 5, 300), weights(whole("w", 5, 300))
    wide = weights(block, gap=3)
    cases = [Member(8, step, 1, sign, 0.1, rank=rank) for step in (1, 2) for sign in (1, -1) for rank in (0, 2)]
    expected = [oracle.perturbed(base, block, member, np.float32).tobytes() for member in cases]
    for _ in range(2):
        for member, wanted in zip(cases, expected, strict=True):
            assert perturbed(base, block, member).tobytes() == wanted
            assert perturbed(wide, block, member).tobytes() == wanted


@pytest.mark.parametrize("unit", ["element", "tile"])
def test_outside_its_subspace_a_member_is_the_base(weights, whole, unit):
    """Every bit outside is the base's, that of -0.0 included, and inside nearly everything moves."""
    block, partition = whole("w", 30, 4096), Partition(3, unit)
    base = weights(block)
    base[:, ::7] = -0.0
    member = Member(8, 1, 2, 1, 0.5, partition, 1)
    moved = perturbed(base, block, member).view(np.uint32) != base.view(np.uint32)
    inside = oracle.subspaces(block, 8, 1, partition) == 1
    assert not moved[~inside].any()
    assert moved[inside].mean() > 0.85


def test_a_member_may_be_written_over_its_base(weights, whole):
    """In place the touched elements become the member's, for callers that have saved them."""
    for partition in (None, Partition(4, "element"), Partition(4, "tile")):
        block, member = whole("w", 9, 4096), Member(8, 1, 2, 1, 0.5, partition)
        base = weights(block, np.uint16)
        expected = perturbed(base, block, member)
        noise.perturb(base, base, block, member)
        assert base.tobytes() == expected.tobytes()


def test_a_read_only_base_is_fine_to_the_last_index(weights):
    """A read-only base (a mapped file) is fine, and so is the very last element a 64-bit index can name."""
    block = Block("w", (2**64,), 0, 2**64 - 9, 1, 9)
    base = weights(block)
    base.flags.writeable = False
    member = Member(1, 2, 3, 1, 1.0)
    assert perturbed(base, block, member).tobytes() == oracle.perturbed(base, block, member, np.float32).tobytes()


def test_normals_look_normal(whole):
    """Mean, spread, kurtosis and the correlation of neighbours of a million numbers are within 4 standard errors."""
    values = noise.normals(whole("w", 1_000_000), 1, 0, 0)[0].astype(np.float64)
    bound = 4 / math.sqrt(len(values))
    assert abs(values.mean()) < bound
    assert abs(values.var() - 1.0) < bound * math.sqrt(2)
    assert abs((values**4).mean() - 2.999) < bound * math.sqrt(96)
    for lag in (1, 2, 4, 8, 4096):
        assert abs((values[lag:] * values[:-lag]).mean()) < bound


def test_no_two_tensors_steps_or_directions_share_noise(whole):
    """P9, P14: streams that differ in one coordinate are uncorrelated and share no run of bytes."""
    count = 40_000
    places = [(run, step, direction) for run in (1, 1 + 2**32) for step in (0, 1) for direction in (0, 1)]
    names = ["model.layers.0.mlp.up_proj.weight", "model.layers.1.mlp.up_proj.weight", "lm_head.weight"]
    streams = np.array([noise.normals(whole(name, count), *place)[0] for place in places for name in names])
    correlations = np.corrcoef(streams)[np.triu_indices(len(streams), 1)]
    assert np.abs(correlations).max() < 4 / math.sqrt(count)
    runs = {row[start : start + 8].tobytes() for row in streams for start in range(0, count, 8)}
    assert len(runs) == streams.size // 8


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"base": np.zeros((2, 4))}, "base must be float32, uint16 .* or float16, got float64"),
        ({"base": np.zeros(8, np.float32)}, r"base must have the shape \(2, 4\) of its block, got \(8,\)"),
        ({"base": np.zeros((2, 8), np.float32)[:, ::2]}, "contiguous rows"),
        ({"base": np.zeros((2, 4), np.float32)[::-1]}, "ascending order"),
        ({"base": np.zeros((2, 4), np.float16)}, "base must be float32 or, like out, uint16, got float16"),
        ({"out": np.zeros((2, 5), np.uint16)}, "out must have the shape"),
        ({"sigma": math.nan}, "sigma must be finite"),
        ({"sigma": 1e39}, "sigma must be finite in fp32"),
        ({"sign": 0}, "sign must be 1 or -1, got 0"),
        ({"run_key": -1}, "run_key must be a whole number"),
        ({"direction": 2**64}, "direction must be a whole number"),
        ({"rank": -1}, "rank must not be negative"),
        ({"subspace": 1}, r"subspace must be in \[0, 1\), got 1"),
        ({"partition": Partition(3), "subspace": 3}, r"subspace must be in \[0, 3\), got 3"),
        ({"partition": Partition(0)}, "1 to 65536 subspaces, got 0"),
        ({"partition": Partition(2, "row")}, "by element or by tile, got 'row'"),
    ],
)
def test_perturb_refuses(change, text):
    """Arrays and members that would corrupt memory or weights are refused with the reason."""
    base, out = np.zeros((2, 4), np.float32), np.zeros((2, 4), np.uint16)
    arrays = {"base": base, "out": out} | {key: change[key] for key in change if key in ("base", "out")}
    member = replace(Member(1, 2, 3, 1, 0.1), **{key: change[key] for key in change if key not in arrays})
    with pytest.raises(ValueError, match=text):
        noise.perturb(arrays["base"], arrays["out"], Block.whole("w", (2, 4)), member)


def test_perturb_refuses_overlap_and_read_only_targets():
    """Memory that overlaps without being the same, and a target that cannot be written, are told before any work."""
    memory, block, member = np.zeros((1, 10), np.float32), Block.whole("w", (6,)), Member(1, 2, 3, 1, 0.1)
    with pytest.raises(ValueError, match="share no memory"):
        noise.perturb(memory[:, :6], memory[:, 4:], block, member)
    memory.flags.writeable = False
    with pytest.raises(ValueError, match="out must be writeable"):
        noise.perturb(np.zeros((1, 6), np.float32), memory[:, :6], block, member)


def test_a_tensor_beyond_64_bits_is_refused():
    """An index that does not fit into 64 bits would share noise with another, so the tensor is refused by name."""
    block = Block("w", (2, 2**64), 0, 0, 1, 3)
    with pytest.raises(ValueError, match=r"2\^64 elements, got the shape .* of 'w'"):
        noise.normals(block, 1, 2, 3)
