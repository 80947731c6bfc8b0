"""Weights in another type, without noise: what is served of an exact base."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.block import Block
from coevo.noise.arrays import elements_of, is_gapless
from coevo.noise.compiled import Count, Plain, kernel
from coevo.noise.formats import Elements, shift
from coevo.noise.kernels import NOTHING

_CHUNK = 4096


def copy_rounded(base: NDArray[Any], out: NDArray[Any]) -> None:
    """Out := base, rounded to the type of `out` to nearest, ties to even; equal types keep every bit.

    Args:
        base: float32 or of the type of `out`, shape (rows, cols), contiguous within a row; not changed.
        out: float32, uint16 (the bits of bfloat16) or float16, of the same shape; no memory in common with `base`.

    Raises:
        ValueError: If types, shapes or strides are others.
    """
    if base.ndim != 2 or base.shape != out.shape:
        raise ValueError(f"base and out must be two matrices of one shape, got {base.shape} and {out.shape}")
    if base.dtype not in (np.float32, out.dtype):
        raise ValueError(f"base must be float32 or, like out, {out.dtype}, got {base.dtype}")
    if base.dtype == out.dtype:
        np.copyto(out, base)
        return
    block = Block("base", base.shape, 0, 0, *base.shape)
    source, target = elements_of("base", base, block), elements_of("out", out, block, is_written=True)
    is_row = is_gapless(block, source[1], target[1])
    write_rounded(target, source, *((1, block.size) if is_row else (block.rows, block.cols)))


@kernel
def write_rounded(target: Plain, source: Plain, rows: Count, cols: Count) -> None:
    """target[r, c] := source[r, c], rounded."""
    out, base, nothing = Elements(*target), Elements(*source), np.full(_CHUNK, NOTHING, np.float32)
    for row in range(rows):
        for col in range(0, cols, _CHUNK):
            count = min(_CHUNK, cols - col)
            shift(out, row * out.stride + col, base, row * base.stride + col, nothing[:count])
