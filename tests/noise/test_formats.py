import numpy as np
import pytest

from coevo import noise
from coevo.block import Block
from coevo.interfaces import Member
from coevo.noise import oracle
from coevo.noise.formats import BF16, Elements, half_to_single, shift_at_random, single_to_half

CASES = [
    ("a tie goes to the even neighbour below", 0x3F808000, 0x3F80),
    ("a tie goes to the even neighbour above", 0x3F818000, 0x3F82),
    ("just above a tie goes up", 0x3F808001, 0x3F81),
    ("just below a tie goes down", 0x3F817FFF, 0x3F81),
    ("minus zero", 0x80000000, 0x8000),
    ("the smallest number goes to zero with its sign", 0x80000001, 0x8000),
    ("a subnormal tie", 0x00018000, 0x0002),
    ("a carry into the exponent", 0x3FFFFFFF, 0x4000),
    ("too large goes to infinity", 0x7F7FFFFF, 0x7F80),
    ("the tie above the largest goes to infinity", 0x7F7F8000, 0x7F80),
    ("below that tie stays the largest", 0xFF7F7FFF, 0xFF7F),
    ("infinity", 0xFF800000, 0xFF80),
    ("a NaN whose payload lies below the cut", 0x7F800001, 0x7FC0),
    ("a NaN that a carry would turn into minus zero", 0x7FFFFFFF, 0x7FC0),
]


def to_type(bits, dtype):
    """Fp32 numbers given by their bits, rounded by `perturb` in a subspace-free member that adds -0.0."""
    base = np.array([bits], np.uint32).view(np.float32)
    out = np.empty(base.shape, dtype)
    block = Block("w", (2**20, base.shape[1]), 5, 0, 1, base.shape[1])
    with np.errstate(invalid="ignore"):
        noise.perturb(base, out, block, Member(1, 0, 0, 1, 0.0))
    return out[0]


@pytest.mark.parametrize(("what", "bits", "expected"), CASES)
def test_bfloat16_rounding_by_hand(what, bits, expected):
    """Rounding to bfloat16 at its corners, worked out by hand; kernel and oracle alike."""
    found = int(to_type([bits], np.uint16)[0])
    value = np.array([bits], np.uint32).view(np.float32)
    assert int(oracle.round_to(value, np.uint16)[0]) == expected
    # A product of +0.0 turns -0.0 into +0.0, as IEEE addition does.
    assert found == expected or (bits == 0x80000000 and found == 0), what


def test_every_float16_is_widened_exactly():
    """All 65,536 patterns become the number NumPy says, NaN by NaN."""
    halves = np.arange(65536, dtype=np.uint16)
    found = np.array([half_to_single(np.uint32(half)) for half in halves], np.uint32).view(np.float32)
    expected = halves.view(np.float16).astype(np.float32)
    is_nan = np.isnan(expected)
    assert (np.isnan(found) == is_nan).all()
    assert found[~is_nan].tobytes() == expected[~is_nan].tobytes()


def test_rounding_to_float16_is_numpys():
    """Every float16, the ties between two of them and what lies on either side of a tie are rounded as NumPy does."""
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    between = (halves[:-1] + halves[1:]) / 2
    values = np.concatenate(
        [halves, between, np.nextafter(between, 0), np.nextafter(between, 1e9), [65519.0, 65520, 1e9]]
    )
    values = np.concatenate([values, -values]).astype(np.float32)
    with np.errstate(over="ignore"):
        expected = values.astype(np.float16)
    found = np.array([single_to_half(bits) for bits in values.view(np.uint32)], np.uint16)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize(("bits", "is_nan"), [(0x7F800000, False), (0x7F800001, True), (0xFFFFFFFF, True)])
def test_float16_keeps_infinities_and_nans(bits, is_nan):
    """Infinity stays infinite and any NaN becomes a NaN."""
    value = np.uint16(single_to_half(np.uint32(bits))).view(np.float16)
    assert np.isnan(value) if is_nan else np.isinf(value)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_hundred_steps_of_a_twelfth_of_an_ulp_arrive(sign):
    """100 steps of ±1e-5 move ±0.02 by 1e-3 in the mean of many elements, to four standard errors."""
    count, start = 4000, int(np.float32(sign * 0.02).view(np.uint32) >> 16)
    words, block = np.full(count, start, np.uint16), Block.whole("w", (count,))
    weights, delta = Elements(words, np.int64(count), np.int64(BF16)), np.full(count, sign * 1e-5, np.float32)
    for step in range(100):
        lanes = oracle.random_bits(block, noise.rounding_key(1, step))[0].astype(np.uint16)
        shift_at_random(weights, 0, delta, lanes)
    drift = oracle.to_fp32(words).astype(np.float64) - float(oracle.to_fp32(np.array([start], np.uint16))[0])
    assert abs(drift.mean() - sign * 1e-3) < 4 * (100 * 2.0**-13 * 1e-5 / count) ** 0.5


def test_random_rounding_leaves_what_bfloat16_holds():
    """Even with all random bits set, infinities and exact numbers stay, and a NaN becomes the quiet NaN."""
    words = np.arange(65536, dtype=np.uint16)
    weights = Elements(words.copy(), np.int64(65536), np.int64(BF16))
    shift_at_random(weights, 0, np.full(65536, -0.0, np.float32), np.full(65536, 0xFFFF, np.uint16))
    is_nan = (words & 0x7FFF) > 0x7F80
    assert (weights.words[~is_nan] == words[~is_nan]).all()
    assert (weights.words[is_nan] == 0x7FC0).all()
