"""Arrays of weights as the kernels take them: any distance between rows, one element next to the other within a row."""

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from coevo.block import Block
from coevo.noise.compiled import Bits, Plain
from coevo.noise.formats import BF16, FP16, FP32

KINDS = {np.dtype(np.float32): FP32, np.dtype(np.uint16): BF16, np.dtype(np.float16): FP16}
_WORDS: dict[int, Any] = {2: np.dtype(np.uint16), 4: np.dtype(np.uint32)}


def elements_of(label: str, array: NDArray[Any], block: Block, *, is_written: bool = False) -> Plain:
    """The bits of an array that holds a block, as the plain tuple of `Elements`.

    Args:
        label: What to call the array in a message.
        array: float32, uint16 (bfloat16 bits) or float16 of shape (block.rows, block.cols).
        block: What it holds.
        is_written: Whether a kernel writes to it.

    Raises:
        ValueError: If type, shape or strides are others, or it cannot be written to.
    """
    kind = KINDS.get(array.dtype)
    if kind is None:
        raise ValueError(f"{label} must be float32, uint16 (the bits of bfloat16) or float16, got {array.dtype}")
    if is_written and not array.flags.writeable:
        raise ValueError(f"{label} must be writeable, got a read-only array")
    words, stride = words_of(label, array, block)
    if not is_written:
        words.setflags(write=False)
    return words, stride, kind


def words_of(label: str, array: NDArray[Any], block: Block) -> tuple[Bits, int]:
    """The elements as unsigned numbers in one flat view, and the distance of two rows in elements.

    Raises:
        ValueError: If the shape is not the block's or a row is not contiguous.
    """
    if array.shape != (block.rows, block.cols):
        raise ValueError(f"{label} must have the shape ({block.rows}, {block.cols}) of its block, got {array.shape}")
    if array.flags.c_contiguous:
        return array.reshape(-1).view(_WORDS[array.itemsize]), block.cols
    size, stride = array.itemsize, array.strides[0] if block.rows > 1 else 0
    if (block.cols > 1 and array.strides[1] != size) or stride < 0 or stride % size:
        raise ValueError(f"{label} must have contiguous rows in ascending order, got the strides {array.strides} bytes")
    span = (block.rows - 1) * (stride // size) + block.cols
    return as_strided(array.view(_WORDS[size]), (span,), (size,)), stride // size


def is_gapless(block: Block, *strides: int) -> bool:
    """Whether a block is one row: consecutive in its tensor, and in memory at these distances of rows."""
    return block.rows <= 1 or (strides.count(block.cols) == len(strides) and block.is_contiguous)
