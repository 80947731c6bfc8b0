"""The noise stated in plain NumPy: slow, short, and the judge of every kernel.

Written from the definition, not from the kernels: one Philox call per element, whole arrays, no blocks. For tests; a
tensor of a few thousand elements is about its limit of use.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.block import Block, matrix_shape
from coevo.interfaces import Member, Partition, Update, UpdateRule
from coevo.noise.basis import Basis
from coevo.noise.fingerprint import name_key
from coevo.noise.keys import direction_key, rounding_key, subspace_key, tensor_key
from coevo.noise.table import normal_table

FloatArray = NDArray[np.float32]
WordArray = NDArray[np.uint64]

_LOW = 2**32 - 1
_WORD = 2**64 - 1
_ROUNDS = 10
_GOLDEN = 0x9E3779B97F4A7C15
_FINGERPRINT_BLOCK = 4096


def philox(counter: Sequence[WordArray], key: tuple[int, int]) -> list[WordArray]:
    """Philox4x32-10 (Salmon et al. 2011, Random123) on arrays of counters.

    Args:
        counter: Four arrays of one shape, 32-bit values held in uint64.
        key: Two 32-bit words.

    Returns:
        The four output words, 32-bit values held in uint64.
    """
    c0, c1, c2, c3 = counter
    for turn in range(_ROUNDS):
        k0 = np.uint64((key[0] + turn * 0x9E3779B9) & _LOW)
        k1 = np.uint64((key[1] + turn * 0xBB67AE85) & _LOW)
        high_0, low_0 = _halves(c0 * np.uint64(0xD2511F53))
        high_1, low_1 = _halves(c2 * np.uint64(0xCD9E8D57))
        c0, c1, c2, c3 = high_1 ^ c1 ^ k0, low_1, high_0 ^ c3 ^ k1, low_0
    return [c0, c1, c2, c3]


def normals(block: Block, run_key: int, step: int, direction: int) -> FloatArray:
    """ε of a block; see `coevo.noise.normals`."""
    values: FloatArray = normal_table()[random_bits(block, direction_key(run_key, step, direction))]
    return values


def subspaces(block: Block, run_key: int, step: int, partition: Partition | None) -> NDArray[np.int64]:
    """The subspace of every element, shape (block.rows, block.cols); 0 without a partition."""
    if partition is None:
        return np.zeros((block.rows, block.cols), np.int64)
    key = subspace_key(run_key, step)
    if partition.unit == "element":
        return random_bits(block, key) * partition.count >> 16
    tiles = _indices(block) >> np.uint64(12)
    seed = _mix(key ^ _mix(tensor_key(block.tensor)))
    found = [(_mix(seed + (int(tile) + 1) * _GOLDEN) * partition.count) >> 64 for tile in tiles.reshape(-1)]
    return np.array(found, np.int64).reshape(tiles.shape)


def epsilon(block: Block, member: Member, direction: int) -> FloatArray:
    """Dense or low-rank ε of a block in one direction of a member's step; see `coevo.noise.perturb`."""
    stream = (member.run_key, member.step, direction)
    if member.rank == 0:
        return normals(block, *stream)
    height, width = matrix_shape(block.shape)
    left = normals(Block.whole(f"{block.tensor}#A", (height, member.rank)), *stream)
    right = normals(Block.whole(f"{block.tensor}#B", (width, member.rank)), *stream)
    total = np.zeros((height, width), np.float32)
    for j in range(member.rank):
        product: FloatArray = left[:, j, None] * right[None, :, j]
        total = total + product
    scaled = total * np.float32(1.0 / math.sqrt(member.rank))
    return scaled[block.row : block.row + block.rows, block.col : block.col + block.cols]


def guided(block: Block, basis: Basis, update: Update) -> FloatArray:
    """The sum of an update's directions of guided noise in a block; see `coevo.noise.guided`."""
    size, part = basis.vectors, basis.parts[block.tensor]
    z, a = np.zeros(size, np.float32), np.zeros(size, np.float32)
    for direction, coefficient in zip(update.directions, update.coefficients, strict=True):
        drawn = normals(Block.whole("#guided", (size,)), update.run_key, update.step, direction)[0]
        z = z + np.float32(coefficient) * drawn
    for i in range(size):
        a = a + basis.mixing[i] * z[i]
    a = a * np.float32(math.sqrt(basis.elements / size))
    core = np.zeros(part.core.shape[1:], np.float32)
    for j in range(size):
        core = core + (a[j] * part.scale[j]) * part.core[j].astype(np.float32)
    total = _product(_product(part.left.astype(np.float32), core), part.right.astype(np.float32))
    return total[block.row : block.row + block.rows, block.col : block.col + block.cols]


def _product(left: FloatArray, right: FloatArray) -> FloatArray:
    """A matrix product summed in fp32, from 0, in the order of the inner index."""
    total = np.zeros((left.shape[0], right.shape[1]), np.float32)
    for j in range(left.shape[1]):
        total = total + left[:, j, None] * right[None, j]
    return total


def perturbed(base: NDArray[Any], block: Block, member: Member, dtype: Any, basis: Basis | None = None) -> NDArray[Any]:
    """A perturbed copy of `base` in a type; see `coevo.noise.perturb`."""
    noise = epsilon(block, member, member.direction)
    if basis is not None:
        noise = guided(block, basis, Update(member.run_key, member.step, (member.direction,), (1.0,)))
    product: FloatArray = np.float32(member.sign * member.sigma) * noise
    exact = to_fp32(base)
    is_inside = subspaces(block, member.run_key, member.step, member.partition) == member.subspace
    return round_to(np.where(is_inside, exact + product, exact), dtype)


def updated(
    weights: NDArray[Any], block: Block, update: Update, rule: UpdateRule, basis: Basis | None = None
) -> NDArray[Any]:
    """An updated copy of `weights`; see `coevo.noise.apply_update`."""
    where = subspaces(block, update.run_key, update.step, update.partition)
    total, exact = np.zeros(where.shape, np.float32), to_fp32(weights)
    member = Member(update.run_key, update.step, 0, 1, 0.0, rank=update.rank)
    whose = update.subspaces or (0,) * len(update.directions)
    for direction, coefficient, subspace in zip(update.directions, update.coefficients, whose, strict=True):
        product: FloatArray = np.float32(coefficient) * epsilon(block, member, direction)
        total = np.where(where == subspace, total + product, total)
    if basis is not None:
        total = guided(block, basis, update)
    # Zero is not added: it would turn -0.0 into +0.0.
    moved = np.where(np.isin(where, whose) & (total != 0), exact + total, exact)
    if rule != "stochastic" or weights.dtype == np.float32:
        return round_to(moved, weights.dtype)
    random = random_bits(block, rounding_key(update.run_key, update.step)).astype(np.uint64)
    bits = (moved.view(np.uint32) + random) >> np.uint64(16)
    return np.where(np.isnan(moved), 0x7FC0, bits).astype(np.uint16)


def to_fp32(values: NDArray[Any]) -> FloatArray:
    """Weights of any type as fp32 numbers; uint16 is the upper half of one."""
    if values.dtype != np.uint16:
        return values.astype(np.float32)
    return (values.astype(np.uint32) << np.uint32(16)).view(np.float32)


def round_to(values: FloatArray, dtype: Any) -> NDArray[Any]:
    """The nearest number of a type; of two the one with an even last bit."""
    if dtype != np.uint16:
        with np.errstate(over="ignore"):
            return values.astype(dtype)
    below = values.view(np.uint32) >> np.uint32(16)
    lower, upper = _bfloat16_numbers(below), _bfloat16_numbers(below + np.uint32(1))
    with np.errstate(invalid="ignore"):
        to_lower, to_upper = np.abs(values - lower), np.abs(upper - values)
    is_up = (to_upper < to_lower) | ((to_upper == to_lower) & (below % 2 == 1))
    rounded = np.where(np.isinf(values), below, below + is_up)
    return np.where(np.isnan(values), 0x7FC0, rounded).astype(np.uint16)


def _bfloat16_numbers(halves: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Exact values, where infinity stands for the number after the largest one: 2¹²⁸."""
    with np.errstate(invalid="ignore"):
        numbers = (halves << np.uint32(16)).view(np.float32).astype(np.float64)
    is_infinite = halves % 0x8000 == 0x7F80
    return np.where(is_infinite, np.where(halves >= 0x8000, -(2.0**128), 2.0**128), numbers)


def fingerprint_part(values: NDArray[Any], block: Block) -> int:
    """What a block adds to the fingerprint; see `coevo.noise.fingerprint_part`."""
    words = np.ascontiguousarray(values).view(f"<u{values.itemsize}").reshape(-1).tolist()
    places = _indices(block).reshape(-1).tolist()
    key = name_key(block.tensor, values.itemsize)
    return sum(_element_hash(key, place, word) for place, word in zip(places, words, strict=True)) & _WORD


def _element_hash(key: int, index: int, word: int) -> int:
    block, position = divmod(index, _FINGERPRINT_BLOCK)
    block_key = _mix(key + (block + 1) * _GOLDEN)
    return _mix((block_key + (position + 1) * _GOLDEN) & _WORD ^ word)


def _mix(state: int) -> int:
    state &= _WORD
    state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    state = (state ^ state >> 27) * 0x94D049BB133111EB & _WORD
    return state ^ state >> 31


def _indices(block: Block) -> WordArray:
    """Flat index of every element, shape (rows, cols)."""
    rows = np.array([block.start + row * block.width for row in range(block.rows)], np.uint64)
    return rows[:, None] + np.arange(block.cols, dtype=np.uint64)[None, :]


def random_bits(block: Block, key: int) -> NDArray[np.int64]:
    """The 16 random bits of every element in the stream of a key, shape (rows, cols)."""
    index = _indices(block).reshape(-1)
    counter, lane = index >> np.uint64(3), index & np.uint64(7)
    tensor = tensor_key(block.tensor)
    name = [np.full(index.shape, half, np.uint64) for half in (tensor & _LOW, tensor >> 32)]
    words = np.array(philox([*reversed(_halves(counter)), *name], (key & _LOW, key >> 32)))
    word = words[lane // np.uint64(2), np.arange(len(index))]
    bits: NDArray[np.int64] = ((word >> (np.uint64(16) * (lane % np.uint64(2)))) & np.uint64(0xFFFF)).astype(np.int64)
    return bits.reshape(block.rows, block.cols)


def _halves(words: WordArray) -> tuple[WordArray, WordArray]:
    return words >> np.uint64(32), words & np.uint64(_LOW)
