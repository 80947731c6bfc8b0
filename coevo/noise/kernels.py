"""Compiled noise kernels: Philox4x32-10 (Salmon et al. 2011) through a table of normals, fused with their use.

One Philox call at counter (index >> 3, tensor) gives 128 bits, read as eight 16-bit lanes in little-endian order:
lane j is word j // 2, low half first, and belongs to the element whose index has index & 7 = j. Noise is made in
blocks of 4,096 numbers that stay in the first-level cache; a full-size noise array never exists. Every product and
every sum is one IEEE fp32 operation: fast-math is off, so no multiply-add is contracted. Arguments are checked by
the callers in `dense` and `fingerprint`.

The kernels release the interpreter lock, so several threads may work on different ranges; the result cannot depend
on how the ranges were cut.
"""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])
Count: TypeAlias = int | np.int64
Words: TypeAlias = NDArray[np.uint32]
Floats: TypeAlias = NDArray[np.float32]

BLOCK_COUNTERS = 512
FINGERPRINT_BLOCK = 4096
GOLDEN = np.uint64(0x9E3779B97F4A7C15)

_MULTIPLIER_0 = np.uint64(0xD2511F53)
_MULTIPLIER_1 = np.uint64(0xCD9E8D57)
_WEYL_0 = np.uint32(0x9E3779B9)
_WEYL_1 = np.uint32(0xBB67AE85)
_ROUNDS = 10
_HALF = np.uint64(32)
_LANE_BITS = np.uint64(3)
_LANE_MASK = np.uint64(7)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def _kernel(function: F) -> F:
    return cast(F, njit(cache=True, nogil=True, fastmath=False)(function))


@_kernel
def fill_words(words: Words, num_counters: Count, first: np.uint64, key: np.uint64, tensor: np.uint64) -> None:
    """Write the four output words of each of `num_counters` consecutive Philox counters into `words`."""
    for j in range(num_counters):
        counter = first + np.uint64(j)
        c0 = np.uint32(counter)
        c1 = np.uint32(counter >> _HALF)
        c2 = np.uint32(tensor)
        c3 = np.uint32(tensor >> _HALF)
        k0 = np.uint32(key)
        k1 = np.uint32(key >> _HALF)
        for _ in range(_ROUNDS):
            product_0 = _MULTIPLIER_0 * np.uint64(c0)
            product_1 = _MULTIPLIER_1 * np.uint64(c2)
            c0 = np.uint32(product_1 >> _HALF) ^ c1 ^ k0
            c2 = np.uint32(product_0 >> _HALF) ^ c3 ^ k1
            c1 = np.uint32(product_1)
            c3 = np.uint32(product_0)
            k0 = np.uint32(k0 + _WEYL_0)
            k1 = np.uint32(k1 + _WEYL_1)
        words[4 * j] = c0
        words[4 * j + 1] = c1
        words[4 * j + 2] = c2
        words[4 * j + 3] = c3


@_kernel
def _fill_block(words: Words, position: np.uint64, count: Count, key: np.uint64, tensor: np.uint64) -> Count:
    """Make the lanes of elements position, …, position + count - 1; return where the first lies in `words`."""
    skip = np.int64(position & _LANE_MASK)
    fill_words(words, (skip + count + 7) // 8, position >> _LANE_BITS, key, tensor)
    return skip


@_kernel
def _block_size(position: np.uint64, remaining: Count) -> Count:
    """How many elements from `position` on fit into one block of counters."""
    return min(8 * BLOCK_COUNTERS - np.int64(position & _LANE_MASK), remaining)


@_kernel
def write_normals(out: Floats, table: Floats, key: np.uint64, tensor: np.uint64, start: np.uint64) -> None:
    """out[i] := ε(start + i)."""
    words = np.empty(4 * BLOCK_COUNTERS, np.uint32)
    lanes = words.view(np.uint16)
    done: Count = 0
    while done < out.shape[0]:
        position = start + np.uint64(done)
        count = _block_size(position, out.shape[0] - done)
        skip = _fill_block(words, position, count, key, tensor)
        target = out[done : done + count]
        source = lanes[skip : skip + count]
        for i in range(count):
            target[i] = table[source[i]]
        done += count


@_kernel
def write_perturbed(
    out: Floats,
    base: Floats,
    table: Floats,
    key: np.uint64,
    tensor: np.uint64,
    scale: np.float32,
    start: np.uint64,
) -> None:
    """out[i] := fl(base[i] + fl(scale · ε(start + i)))."""
    words = np.empty(4 * BLOCK_COUNTERS, np.uint32)
    lanes = words.view(np.uint16)
    done: Count = 0
    while done < out.shape[0]:
        position = start + np.uint64(done)
        count = _block_size(position, out.shape[0] - done)
        skip = _fill_block(words, position, count, key, tensor)
        target = out[done : done + count]
        centre = base[done : done + count]
        source = lanes[skip : skip + count]
        for i in range(count):
            target[i] = centre[i] + scale * table[source[i]]
        done += count


@_kernel
def add_directions(
    weights: Floats,
    table: Floats,
    keys: NDArray[np.uint64],
    coefficients: Floats,
    tensor: np.uint64,
    start: np.uint64,
) -> None:
    """weights[i] := fl(weights[i] + Σₖ fl(coefficientₖ · εₖ(start + i))), the sum in fp32, in the order given."""
    words = np.empty(4 * BLOCK_COUNTERS, np.uint32)
    lanes = words.view(np.uint16)
    sums = np.empty(8 * BLOCK_COUNTERS, np.float32)
    done: Count = 0
    while done < weights.shape[0]:
        position = start + np.uint64(done)
        count = _block_size(position, weights.shape[0] - done)
        sums[:count] = 0.0
        for k in range(keys.shape[0]):
            skip = _fill_block(words, position, count, keys[k], tensor)
            source = lanes[skip : skip + count]
            coefficient = coefficients[k]
            for i in range(count):
                sums[i] += coefficient * table[source[i]]
        target = weights[done : done + count]
        for i in range(count):
            target[i] += sums[i]
        done += count


@_kernel
def _mix(state: np.uint64) -> np.uint64:
    """Finaliser of splitmix64 (Steele, Lea, Flood 2014): a bijection on 64 bits."""
    state = (state ^ (state >> np.uint64(30))) * _MIX_1
    state = (state ^ (state >> np.uint64(27))) * _MIX_2
    return state ^ (state >> np.uint64(31))


@_kernel
def hash_sum(values: NDArray[np.unsignedinteger[Any]], name_key: np.uint64, start: np.uint64) -> np.uint64:
    """Sum modulo 2⁶⁴ of the hashes of (name, block, position, value) over elements start, start + 1, …."""
    total = np.uint64(0)
    done: Count = 0
    while done < values.shape[0]:
        position = start + np.uint64(done)
        offset = np.int64(position % np.uint64(FINGERPRINT_BLOCK))
        count = min(FINGERPRINT_BLOCK - offset, values.shape[0] - done)
        block = position // np.uint64(FINGERPRINT_BLOCK)
        state = _mix(name_key + (block + np.uint64(1)) * GOLDEN) + np.uint64(offset) * GOLDEN
        source = values[done : done + count]
        for i in range(count):
            total += _mix((state + np.uint64(i + 1) * GOLDEN) ^ np.uint64(source[i]))
        done += count
    return total
