"""Weights in another type, without noise: what is served of an exact base."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.block import Block
from coevo.noise.arrays import cells_of
from coevo.noise.compiled import kernel
from coevo.noise.formats import FP32, Cells, shift

_CHUNK = 4096


def copy_rounded(base: NDArray[Any], out: NDArray[Any]) -> None:
    """Out := base, rounded to the type of `out` to nearest, ties to even.

    Args:
        base: float32 or of the type of `out`, shape (rows, cols), columns contiguous.
        out: float32, uint16 (the bits of bfloat16) or float16, of the same shape.

    Raises:
        ValueError: If types or shapes are others.
    """
    if base.dtype == out.dtype:
        np.copyto(out, base)
        return
    block = Block("base", base.shape, 0, 0, *base.shape)
    source, target = cells_of("base", base, block), cells_of("out", out, block, is_written=True)
    if source.kind != FP32:
        raise ValueError(f"base must be float32 or, like out, {out.dtype}, got {base.dtype}")
    _round_rows(target, source, np.int64(block.rows), np.int64(block.cols))


@kernel
def _round_rows(target: Cells, source: Cells, rows: np.int64, cols: np.int64) -> None:
    # Unlike 0.0, a negative zero changes no number when it is added, negative zero included.
    nothing = np.full(_CHUNK, np.float32(-0.0), np.float32)
    for row in range(rows):
        for col in range(0, cols, _CHUNK):
            count = min(_CHUNK, cols - col)
            shift(target, row * target.stride + col, source, row * source.stride + col, nothing[:count])
