"""Arrays of weights as the kernels take them: any distance between rows, one element next to the other within a row."""

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from coevo.block import Block
from coevo.noise.compiled import Bits
from coevo.noise.formats import BF16, FP16, FP32, Cells

KINDS = {np.dtype(np.float32): FP32, np.dtype(np.uint16): BF16, np.dtype(np.float16): FP16}


def cells_of(label: str, array: NDArray[Any], block: Block, *, is_written: bool = False) -> Cells:
    """The bits of an array that holds a block.

    Args:
        label: What to call the array in a message.
        array: float32, uint16 (bfloat16 bits) or float16 of shape (block.rows, block.cols).
        block: What it holds.
        is_written: Whether a kernel writes to it.

    Raises:
        ValueError: If type, shape or strides are others, or it cannot be written to.
    """
    if array.dtype not in KINDS:
        raise ValueError(f"{label} must be float32, uint16 (the bits of bfloat16) or float16, got {array.dtype}")
    if is_written and not array.flags.writeable:
        raise ValueError(f"{label} must be writeable, got a read-only array")
    words, stride = words_of(label, array, block)
    if not is_written:
        words.flags.writeable = False
    return Cells(words, np.int64(stride), np.int64(KINDS[array.dtype]))


def words_of(label: str, array: NDArray[Any], block: Block) -> tuple[Bits, int]:
    """The elements as unsigned numbers in one flat view, and the distance of two rows in elements.

    Raises:
        ValueError: If the shape is not the block's or a row is not contiguous.
    """
    if array.shape != (block.rows, block.cols):
        raise ValueError(f"{label} must have the shape ({block.rows}, {block.cols}) of its block, got {array.shape}")
    size = array.itemsize
    words: Any = array.view(np.uint16 if size == 2 else np.uint32)
    if not block.size:
        return words.reshape(-1), block.cols
    stride = array.strides[0] if block.rows > 1 else block.cols * size
    if (block.cols > 1 and array.strides[1] != size) or stride < 0 or stride % size:
        raise ValueError(f"{label} must have contiguous rows in ascending order, got the strides {array.strides} bytes")
    span = (block.rows - 1) * (stride // size) + block.cols
    return as_strided(words, (span,), (size,)), stride // size


def is_gapless(block: Block, *strides: int) -> bool:
    """Whether a block is one row: consecutive in its tensor, and in memory at these distances of rows."""
    return block.is_contiguous and all(block.rows <= 1 or stride == block.cols for stride in strides)
