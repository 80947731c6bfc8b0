"""Weights of 32 and 16 bits to fp32 and back, in whole numbers, so that no library and no device can round otherwise.

Rounding to nearest sends ties to the even neighbour and what is too large to infinity; a NaN becomes the quiet NaN
without payload. Stochastic rounding adds 16 random bits below the mantissa that bfloat16 keeps and cuts there: the
chance to go up is the part cut off over the distance of the neighbours, in steps of 2⁻¹⁶.
"""

from typing import NamedTuple

import numpy as np

from coevo.noise.compiled import Bits, Count, Floats, Lanes, kernel

FP32, BF16, FP16 = 0, 1, 2


class Elements(NamedTuple):
    """Elements in memory: [r, c] has the bits words[r · stride + c], of type `kind`."""

    words: Bits
    stride: np.int64
    kind: np.int64


@kernel
def shift(out: Elements, to: Count, base: Elements, start: Count, delta: Floats) -> None:
    """Element to + i of `out` := element start + i of `base` plus delta[i], one fp32 sum, rounded to nearest."""
    count = delta.shape[0]
    target, source = out.words[to : to + count], base.words[start : start + count]
    if out.kind == FP32:
        for i in range(count):
            target[i] = plus(np.uint32(source[i]), delta[i])
    elif out.kind == FP16:
        for i in range(count):
            bits = half_to_single(np.uint32(source[i])) if base.kind == FP16 else np.uint32(source[i])
            target[i] = single_to_half(plus(bits, delta[i]))
    elif base.kind == FP32:
        for i in range(count):
            target[i] = nearest(plus(np.uint32(source[i]), delta[i]))
    else:
        for i in range(count):
            target[i] = nearest(plus(np.uint32(np.uint32(source[i]) << np.uint32(16)), delta[i]))


@kernel
def shift_at_random(weights: Elements, start: Count, delta: Floats, lanes: Lanes) -> None:
    """Element start + i of bfloat16 weights := itself plus delta[i], rounded by the random bits of lane i."""
    target = weights.words[start : start + delta.shape[0]]
    for i in range(delta.shape[0]):
        bits = plus(np.uint32(np.uint32(target[i]) << np.uint32(16)), delta[i])
        target[i] = upper_half(bits, np.uint32(lanes[i]))


@kernel
def plus(bits: np.uint32, delta: np.float32) -> np.uint32:
    """Bits of the fp32 sum."""
    return np.float32(np.uint32(bits).view(np.float32) + delta).view(np.uint32)


@kernel
def nearest(bits: np.uint32) -> np.uint32:
    """Bits of an fp32 number to bits of the nearest bfloat16."""
    return upper_half(bits, np.uint32(np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))))


@kernel
def upper_half(bits: np.uint32, carry: np.uint32) -> np.uint32:
    """The upper half of bits + carry; infinities stay, as their lower half is 0."""
    rounded = np.uint32(bits + carry) >> np.uint32(16)
    return np.uint32(0x7FC0) if (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000) else np.uint32(rounded)


@kernel
def half_to_single(half: np.uint32) -> np.uint32:
    """Bits of a float16 to bits of the same number in fp32.

    With exponent and mantissa moved into place the number is 2¹¹² too small, subnormals included.
    """
    moved = np.uint32((half & np.uint32(0x7FFF)) << np.uint32(13))
    scaled = np.float32(moved.view(np.float32) * np.float32(2.0**112)).view(np.uint32)
    special = np.uint32(moved | np.uint32(0x7F800000))
    size = special if moved >= np.uint32(0x0F800000) else scaled
    return np.uint32(size | ((half & np.uint32(0x8000)) << np.uint32(16)))


@kernel
def single_to_half(bits: np.uint32) -> np.uint32:
    """Bits of an fp32 number to bits of the nearest float16.

    Below the smallest normal number 2⁻¹⁴ the sum with 0.5, whose last place is the smallest subnormal 2⁻²⁴, rounds.
    """
    size = np.uint32(bits & np.uint32(0x7FFFFFFF))
    raised = np.float32(size.view(np.float32) + np.float32(0.5))
    small = np.uint32(raised.view(np.uint32) - np.uint32(0x3F000000))
    odd = (size >> np.uint32(13)) & np.uint32(1)
    normal = np.uint32(size + np.uint32(0xC8000FFF) + odd) >> np.uint32(13)
    half = small if size < np.uint32(0x38800000) else np.uint32(normal)
    if size >= np.uint32(0x47800000):
        half = np.uint32(0x7E00) if size > np.uint32(0x7F800000) else np.uint32(0x7C00)
    return np.uint32(half | ((bits >> np.uint32(16)) & np.uint32(0x8000)))
