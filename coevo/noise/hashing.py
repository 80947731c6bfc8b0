"""64-bit hashes: of a tile for its subspace, of an element for the fingerprint."""

import numpy as np

from coevo.noise.compiled import Bits, Count, kernel

HASH_BLOCK = 4096

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_ONE = np.uint64(1)


@kernel
def mix(state: np.uint64) -> np.uint64:
    """Finaliser of splitmix64 (Steele, Lea, Flood 2014): a bijection on 64 bits."""
    state = (state ^ (state >> np.uint64(30))) * _MIX_1
    state = (state ^ (state >> np.uint64(27))) * _MIX_2
    return state ^ (state >> np.uint64(31))


@kernel
def hash_of(key: np.uint64, index: np.uint64) -> np.uint64:
    """Number `index` of the splitmix64 stream that starts at `key`."""
    return mix(key + (index + _ONE) * _GOLDEN)


@kernel
def sum_of_hashes(words: Bits, stride: Count, rows: Count, cols: Count, place: tuple[np.uint64, ...]) -> np.uint64:
    """Sum modulo 2⁶⁴ of the hashes of (name, block, position, value) over words[r · stride + c].

    Args:
        words: Bits of the elements.
        stride: Words from one row to the next.
        rows: Number of rows.
        cols: Number of columns.
        place: Key of the name; flat index of the first element; elements from one row of the tensor to the next.
    """
    key, start, width = place
    total = np.uint64(0)
    for row in range(rows):
        done: Count = 0
        while done < cols:
            position = start + np.uint64(row) * width + np.uint64(done)
            offset = np.int64(position % np.uint64(HASH_BLOCK))
            count = min(HASH_BLOCK - offset, cols - done)
            state = hash_of(key, position // np.uint64(HASH_BLOCK)) + np.uint64(offset) * _GOLDEN
            first = row * stride + done
            source = words[first : first + count]
            for i in range(count):
                total += mix((state + np.uint64(i + 1) * _GOLDEN) ^ np.uint64(source[i]))
            done += count
    return total
