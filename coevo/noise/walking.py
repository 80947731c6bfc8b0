"""How a kernel walks a rectangle of one tensor: chunk by chunk, each within one row and one tile."""

from typing import NamedTuple

import numpy as np

from coevo.noise.compiled import Count, kernel
from coevo.noise.philox import CHUNK

_CHUNK_MASK = np.uint64(CHUNK - 1)


class Grid(NamedTuple):
    """Where the elements lie in their tensor: [r, c] has flat index start + r · width + c.

    The walk goes down the rows of one panel of columns before it enters the next.
    """

    rows: np.int64
    cols: np.int64
    start: np.uint64
    width: np.uint64
    tensor: np.uint64
    panel: np.int64


class Chunk(NamedTuple):
    """Elements [row, col], …, [row, col + count - 1], the first of which has flat index `position`.

    A chunk of no elements is behind the end of the walk.
    """

    row: Count
    col: Count
    position: np.uint64
    length: Count


@kernel
def chunk_at(grid: Grid, row: Count, col: Count) -> Chunk:
    """The longest chunk that begins at an element; it ends with its row, its panel or a multiple of `CHUNK`."""
    position = grid.start + np.uint64(row) * grid.width + np.uint64(col)
    remaining = min(grid.panel - col % grid.panel, grid.cols - col)
    return Chunk(row, col, position, min(CHUNK - np.int64(position & _CHUNK_MASK), remaining))


@kernel
def chunk_after(grid: Grid, chunk: Chunk) -> Chunk:
    """The next chunk of the walk."""
    row, col = chunk.row, chunk.col + chunk.length
    if col == grid.cols or col % grid.panel == 0:
        row += 1
        if row < grid.rows:
            col = chunk.col - chunk.col % grid.panel
        elif col < grid.cols:
            row = 0
        else:
            return Chunk(row, col, chunk.position, 0)
    return chunk_at(grid, row, col)
