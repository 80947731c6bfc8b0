"""The noise stated in plain NumPy: slow, short, and the judge of every kernel.

Written from the definition, not from the kernels: one Philox call per element, whole arrays, no blocks. For tests; a
tensor of a few thousand elements is about its limit of use.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.noise.fingerprint import name_key
from coevo.noise.table import normal_table

FloatArray = NDArray[np.float32]
WordArray = NDArray[np.uint64]

_LOW = 2**32 - 1
_WORD = 2**64 - 1
_ROUNDS = 10
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


def normals(key: int, tensor: int, start: int, count: int) -> FloatArray:
    """ε of elements start, …, start + count - 1; see `coevo.noise.normals`."""
    index = np.uint64(start) + np.arange(count, dtype=np.uint64)
    block, lane = index >> np.uint64(3), index & np.uint64(7)
    name = [np.full(count, half, np.uint64) for half in (tensor & _LOW, tensor >> 32)]
    words = np.array(philox([*reversed(_halves(block)), *name], (key & _LOW, key >> 32)))
    word = words[lane // np.uint64(2), np.arange(count)]
    bits = (word >> (np.uint64(16) * (lane % np.uint64(2)))) & np.uint64(0xFFFF)
    values: FloatArray = normal_table()[bits]
    return values


def perturbed(base: FloatArray, *, key: int, tensor: int, scale: float, start: int = 0) -> FloatArray:
    """A perturbed copy of `base`; see `coevo.noise.perturb`."""
    product: FloatArray = np.float32(scale) * normals(key, tensor, start, len(base))
    return base + product


def updated(
    weights: FloatArray, *, keys: Sequence[int], coefficients: Sequence[float], tensor: int, start: int = 0
) -> FloatArray:
    """An updated copy of `weights`; see `coevo.noise.apply_update`."""
    total = np.zeros(len(weights), np.float32)
    for key, coefficient in zip(keys, coefficients, strict=True):
        product: FloatArray = np.float32(coefficient) * normals(key, tensor, start, len(weights))
        total = total + product
    return weights + total


def fingerprint(tensors: Mapping[str, NDArray[Any]]) -> int:
    """The fingerprint in whole numbers of Python, element by element; see `coevo.noise.fingerprint`."""
    total = 0
    for name, values in tensors.items():
        words = np.ascontiguousarray(values).reshape(-1).view(f"<u{values.itemsize}").tolist()
        key = name_key(name, values.itemsize)
        total += sum(_element_hash(key, index, word) for index, word in enumerate(words))
    return total & _WORD


def _element_hash(key: int, index: int, word: int) -> int:
    golden = 0x9E3779B97F4A7C15
    block, position = divmod(index, _FINGERPRINT_BLOCK)
    block_key = _mix(key + (block + 1) * golden)
    return _mix((block_key + (position + 1) * golden) & _WORD ^ word)


def _mix(state: int) -> int:
    state &= _WORD
    state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    state = (state ^ state >> 27) * 0x94D049BB133111EB & _WORD
    return state ^ state >> 31


def _halves(words: WordArray) -> tuple[WordArray, WordArray]:
    return words >> np.uint64(32), words & np.uint64(_LOW)
