import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo import noise
from coevo.block import Block
from coevo.noise import oracle


def tensor(count, dtype=np.float32, seed=3):
    """Random numbers of a 2- or 4-byte type, all bits in use."""
    words = np.random.default_rng(seed).integers(0, 256, count * np.dtype(dtype).itemsize, np.uint8)
    return words.view(dtype)


def fingerprint(tensors, part=noise.fingerprint_part):
    """The fingerprint of whole tensors, each in row-major order."""
    total = 0
    for name, values in tensors.items():
        block = Block.whole(name, values.shape)
        total += part(np.ascontiguousarray(values).reshape(block.rows, block.cols), block)
    return total % 2**64


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint16, np.uint32, np.int32])
@pytest.mark.parametrize("count", [0, 1, 4095, 4096, 4097, 9001])
def test_fingerprint_equals_the_oracle(dtype, count):
    """Kernel and definition agree for every item type and around the block edges."""
    tensors = {"a": tensor(count, dtype), "b": tensor(13, dtype)}
    assert fingerprint(tensors) == fingerprint(tensors, oracle.fingerprint_part)


@given(cuts=st.lists(st.integers(0, 9000), max_size=6), order=st.randoms(use_true_random=False))
def test_chunks_and_their_order_do_not_matter(cuts, order):
    """Parts of any size, summed in any order modulo 2⁶⁴, give the fingerprint of the whole."""
    values = tensor(9000)
    edges = sorted({0, 9000, *cuts})
    pieces = list(itertools.pairwise(edges))
    order.shuffle(pieces)
    parts = [
        noise.fingerprint_part(values[None, left:right], Block("w", (9000,), 0, left, 1, right - left))
        for left, right in pieces
    ]
    assert sum(parts) % 2**64 == fingerprint({"w": values})


@pytest.mark.parametrize("dtype", [np.float32, np.uint16, np.float16])
@given(data=st.data())
def test_a_part_equals_the_oracle_and_the_sum_of_its_parts(blocks, weights, cuts, dtype, data):
    """P10: any rectangle of a tensor, in any layout, adds what its elements add one by one."""
    block = data.draw(blocks)
    values = weights(block, dtype, gap=data.draw(st.sampled_from([0, 3])))
    expected = noise.fingerprint_part(values, block)
    assert expected == oracle.fingerprint_part(values, block)
    pieces = data.draw(cuts(block))
    assert (
        sum(noise.fingerprint_part(values[down, across], piece) for piece, down, across in pieces) % 2**64 == expected
    )


def test_shape_and_mapping_order_do_not_matter():
    """Only names and flat contents count, so a view and another order of tensors are the same weights."""
    a, b = tensor(600).reshape(20, 30), tensor(50, seed=4)
    expected = fingerprint({"a": a, "b": b})
    assert fingerprint({"b": b, "a": a.reshape(-1)}) == expected
    assert fingerprint({"a": np.asfortranarray(a), "b": b}) == expected
    assert fingerprint({"a": np.ascontiguousarray(a.T), "b": b}) != expected


@given(position=st.integers(0, 4999), bit=st.integers(0, 31))
def test_every_single_bit_counts(position, bit):
    """Flipping any one bit changes the fingerprint, the sign of zero included."""
    values = np.zeros(5000, np.float32)
    before = fingerprint({"w": values})
    values.view(np.uint32)[position] ^= np.uint32(1 << bit)
    assert fingerprint({"w": values}) != before


@pytest.mark.parametrize("dtype", [np.float32, np.uint16])
def test_all_single_bit_flips_differ_from_each_other(dtype):
    """The 64-bit hash spreads: no two single-bit changes of a small tensor give the same fingerprint."""
    words = np.zeros(64, np.uint32 if dtype == np.float32 else dtype)
    seen = set()
    for position in range(64):
        for bit in range(8 * words.itemsize):
            flipped = words.copy()
            flipped[position] ^= 1 << bit
            seen.add(fingerprint({"w": flipped.view(dtype)}))
    assert len(seen) == 64 * 8 * words.itemsize


@given(st.lists(st.integers(0, 8191), min_size=2, max_size=2, unique=True))
def test_swapped_elements_count(places):
    """Two different elements that change places change the fingerprint, within a block and across blocks."""
    values = np.arange(8192, dtype=np.uint32)
    before = fingerprint({"w": values})
    values[places] = values[places[::-1]]
    assert fingerprint({"w": values}) != before


def test_swapped_blocks_count():
    """Two blocks of 4,096 elements that change places change the fingerprint."""
    blocks = tensor(8192).reshape(2, 4096)
    assert fingerprint({"w": blocks}) != fingerprint({"w": blocks[::-1]})


def test_names_lengths_and_types_count():
    """A renamed tensor, two tensors that trade names, a trailing zero and another item size are other weights."""
    a, b = tensor(100, np.uint16), tensor(100, np.uint16, seed=4)
    prints = [
        fingerprint({"a": a, "b": b}),
        fingerprint({"a": b, "b": a}),
        fingerprint({"a": a, "c": b}),
        fingerprint({"a": a}),
        fingerprint({"a": np.append(a, np.uint16(0)), "b": b}),
        fingerprint({"a": a.astype(np.uint32), "b": b}),
    ]
    assert len(set(prints)) == len(prints)


def test_the_smallest_movement_is_seen():
    """A movement by one unit in the last place of one weight of a large tensor is noticed."""
    values = tensor(100_000, np.uint32) % np.uint32(2**30)
    moved = values.view(np.float32).copy()
    moved[54_321] = np.nextafter(moved[54_321], np.float32(np.inf))
    assert fingerprint({"w": moved}) != fingerprint({"w": values.view(np.float32)})


@pytest.mark.parametrize("values", [np.zeros(3), np.zeros(3, np.int8), np.zeros(3, np.complex64).view("c8")])
def test_other_item_sizes_are_refused(values):
    """Eight-byte and one-byte tensors are refused by name rather than hashed in part."""
    with pytest.raises(ValueError, match=r"2 or 4 bytes.*'w'"):
        fingerprint({"w": values})


def test_a_part_of_another_shape_is_refused():
    """A fingerprint of other elements than the block's would pass for drift."""
    with pytest.raises(ValueError, match=r"must have the shape \(1, 4\) of its block, got \(4,\)"):
        noise.fingerprint_part(np.zeros(4, np.float32), Block.whole("w", (4,)))
