"""Where a piece of served weights lies in its checkpoint tensor: the one coordinate system of noise and engines.

Every checkpoint tensor is seen as a matrix whose columns are its last dimension (a vector is one row). A block is a
rectangle of it, so a fused, sharded or transposed-in-memory layer is a few blocks, and noise, updates and fingerprints
depend on the element's flat index in the unsharded checkpoint tensor alone.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Block:
    """A rectangle of one checkpoint tensor; element [r, c] has flat index (row + r) · width + col + c.

    Attributes:
        tensor: Name in the checkpoint (safetensors).
        shape: Shape of the whole, unsharded tensor.
        row: First row.
        col: First column.
        rows: Number of rows.
        cols: Number of columns.
    """

    tensor: str
    shape: tuple[int, ...]
    row: int
    col: int
    rows: int
    cols: int

    def __post_init__(self) -> None:
        height, width = matrix_shape(self.shape)
        if min(self.row, self.col, self.rows, self.cols) < 0 or (
            self.row + self.rows > height or self.col + self.cols > width
        ):
            raise ValueError(f"the block {self} leaves its {height} x {width} matrix")

    @classmethod
    def whole(cls, tensor: str, shape: tuple[int, ...]) -> "Block":
        """All of a tensor."""
        return cls(tensor, shape, 0, 0, *matrix_shape(shape))

    @property
    def width(self) -> int:
        """Columns of the whole tensor."""
        return matrix_shape(self.shape)[1]

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.rows * self.cols

    @property
    def start(self) -> int:
        """Flat index of the first element in the whole tensor."""
        return self.row * self.width + self.col

    @property
    def is_contiguous(self) -> bool:
        """Whether its elements are consecutive in the whole tensor."""
        return self.rows <= 1 or self.cols == self.width

    def pieces(self, limit: int) -> Iterator[tuple["Block", slice, slice]]:
        """Cut into blocks of at most `limit` elements, each with the rows and columns of this block that it covers."""
        cols = max(1, min(self.cols, limit))
        rows = max(1, limit // cols)
        for row in range(0, self.rows, rows):
            for col in range(0, self.cols, cols):
                down, across = slice(row, min(row + rows, self.rows)), slice(col, min(col + cols, self.cols))
                piece = replace(
                    self,
                    row=self.row + row,
                    col=self.col + col,
                    rows=down.stop - down.start,
                    cols=across.stop - across.start,
                )
                yield piece, down, across


def matrix_shape(shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns of a tensor seen as a matrix; a scalar is 1 x 1."""
    if not shape:
        return 1, 1
    return math.prod(shape[:-1]), shape[-1]
