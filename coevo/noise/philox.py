"""Philox4x32-10 (Salmon et al. 2011) in chunks that stay in the first-level cache.

One call at counter (index >> 3, tensor) gives 128 bits, read as eight 16-bit lanes in little-endian order: lane j is
word j // 2, low half first, and belongs to the element whose index has index & 7 = j. A chunk never crosses a multiple
of `CHUNK` in the flat index, so it lies in one tile and needs at most `CHUNK` lanes.
"""

import numpy as np

from coevo.noise.compiled import Count, Floats, Lanes, Words, kernel

CHUNK = 2048

_MULTIPLIER_0 = np.uint64(0xD2511F53)
_MULTIPLIER_1 = np.uint64(0xCD9E8D57)
_WEYL_0 = np.uint32(0x9E3779B9)
_WEYL_1 = np.uint32(0xBB67AE85)
_ROUNDS = 10
_HALF = np.uint64(32)
_LANE_BITS = np.uint64(3)
_LANE_MASK = np.uint64(7)


@kernel
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


@kernel
def fill_lanes(words: Words, key: np.uint64, tensor: np.uint64, position: np.uint64, count: Count) -> Lanes:
    """The lanes of elements position, …, position + count - 1: a view into `words`, which they overwrite."""
    skip = np.int64(position & _LANE_MASK)
    fill_words(words, (skip + count + 7) // 8, position >> _LANE_BITS, key, tensor)
    return words.view(np.uint16)[skip : skip + count]


@kernel
def look_up(scaled: Floats, table: Floats, lanes: Lanes, scale: np.float32) -> None:
    """scaled[i] := scale times the standard normal of lane i."""
    for i in range(lanes.shape[0]):
        scaled[i] = scale * table[lanes[i]]
