"""Which rectangle of a served parameter holds which rectangle of which checkpoint tensor; no torch, no vLLM.

vLLM fuses, shards and pads what it loads. Instead of one rule per architecture the map is read off the model: tensors
that hold coordinates instead of weights go through the model's own loader, and where a coordinate arrives, there the
weight of that coordinate lies. A coordinate is the element's place in all checkpoint tensors laid end to end, sent as
digits to base 256: 1 … 256 is exact in every floating type a model is served in, and 0 stays free for padding.

What cannot be written as rectangles (transposed, interleaved or re-cut layers) is refused by name.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.block import Block, matrix_shape
from coevo.errors import ModelError

Coordinates = NDArray[np.int64]
Shape = tuple[int, ...]

UNCOVERED = -1
"""Coordinate of an element that no checkpoint tensor fills."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A block of the checkpoint and where it is served.

    Attributes:
        block: The rectangle of the checkpoint tensor.
        parameter: Name of the runtime parameter, seen as a matrix whose columns are its last dimension.
        row: First row there.
        col: First column there.
        is_owned: Whether this copy stands for the block in fingerprint and export; every copy is written.
    """

    block: Block
    parameter: str
    row: int
    col: int
    is_owned: bool = True


class Catalogue:
    """The checkpoint tensors laid end to end, in the order given.

    Args:
        shapes: Shape of each tensor by name; tensors without elements are left out.
    """

    def __init__(self, shapes: Mapping[str, Shape]) -> None:
        matrices = {name: matrix_shape(shape) for name, shape in shapes.items()}
        self.shapes = {name: shape for name, shape in shapes.items() if min(matrices[name])}
        self._names = list(self.shapes)
        bounds = [0, *accumulate(rows * cols for rows, cols in map(matrices.__getitem__, self._names))]
        self._starts = np.array(bounds, np.int64)
        self._widths = np.array([matrices[name][1] for name in self._names], np.int64)
        self.starts = dict(zip(self._names, bounds, strict=False))

    @property
    def num_digits(self) -> int:
        """Digits to base 256 that tell all coordinates apart."""
        return max(1, -(-(int(self._starts[-1]) - 1).bit_length() // 8))

    def find(self, coordinates: Coordinates) -> tuple[Coordinates, Coordinates, Coordinates]:
        """Number of the tensor, row and column of each coordinate; UNCOVERED where it is, or lies outside."""
        tensor = np.searchsorted(self._starts, coordinates, side="right") - 1
        is_inside = (coordinates >= 0) & (tensor < len(self._names))
        known = np.where(is_inside, tensor, 0)
        row, col = np.divmod(coordinates - self._starts[known], self._widths[known])
        return (
            np.where(is_inside, tensor, UNCOVERED),
            np.where(is_inside, row, UNCOVERED),
            np.where(is_inside, col, UNCOVERED),
        )

    def block(self, tensor: int, corner: tuple[int, int], size: tuple[int, int]) -> Block:
        """The rectangle of a numbered tensor from its first row and column, and rows and columns."""
        name = self._names[tensor]
        return Block(name, self.shapes[name], *corner, *size)

    def width(self, tensor: Coordinates) -> Coordinates:
        """Columns of numbered tensors."""
        widths: Coordinates = self._widths[tensor]
        return widths


def merge_rows(
    first: Coordinates, last: Coordinates, *, cols: int, parameter: str, catalogue: Catalogue
) -> list[Placed]:
    """Blocks of a parameter of many rows, from the coordinates of the first and the last column of each row.

    Args:
        first: Shape (rows,); UNCOVERED for rows that nothing fills.
        last: Shape (rows,).
        cols: Columns of the parameter.
        parameter: Its name.
        catalogue: The coordinates' meaning.

    Raises:
        ModelError: If a row is not a piece of one row of one tensor.
    """
    tensor, row, col = catalogue.find(first)
    is_piece = (tensor >= 0) & (last - first == cols - 1) & (col + cols <= catalogue.width(tensor))
    is_bare = (first == UNCOVERED) & (last == UNCOVERED)
    strange = np.flatnonzero(~(is_piece | is_bare))
    if len(strange):
        raise _unreadable(parameter, int(strange[0]))
    follows = (tensor[1:] == tensor[:-1]) & (col[1:] == col[:-1]) & ((row[1:] == row[:-1] + 1) | is_bare[1:])
    return [
        Placed(catalogue.block(int(tensor[a]), (int(row[a]), int(col[a])), (b - a, cols)), parameter, row=a, col=0)
        for a, b in _runs(follows, len(first))
        if is_piece[a]
    ]


def merge_vector(coordinates: Coordinates, *, parameter: str, catalogue: Catalogue) -> list[Placed]:
    """Blocks of a parameter of one row, from the coordinate of every element, shape (cols,).

    Raises:
        ModelError: If an element's coordinate lies outside every tensor.
    """
    tensor, row, col = catalogue.find(coordinates)
    strange = np.flatnonzero((tensor < 0) & (coordinates != UNCOVERED))
    if len(strange):
        raise _unreadable(parameter, 0)
    is_bare = tensor < 0
    follows = (tensor[1:] == tensor[:-1]) & (row[1:] == row[:-1]) & ((col[1:] == col[:-1] + 1) | is_bare[1:])
    return [
        Placed(catalogue.block(int(tensor[a]), (int(row[a]), int(col[a])), (1, b - a)), parameter, row=0, col=a)
        for a, b in _runs(follows, len(coordinates))
        if not is_bare[a]
    ]


def assign_owners(ranks: Sequence[Sequence[Placed]], catalogue: Catalogue) -> list[list[Placed]]:
    """Cut the ranks' blocks so that any two are the same rectangle or disjoint, and give each one owner.

    The owner of a rectangle that several copies serve is the first rank that has it, and there its first copy.

    Returns:
        The cut blocks of each rank, in the order of its own.

    Raises:
        ModelError: Naming the first checkpoint tensor of the catalogue that is not served in full.
    """
    rows, cols = _edges(ranks)
    seen: set[Block] = set()
    counted = dict.fromkeys(catalogue.shapes, 0)
    cut: list[list[Placed]] = []
    for blocks in ranks:
        pieces = []
        for piece in (piece for placed in blocks for piece in _cut(placed, rows, cols)):
            is_owned = piece.block not in seen
            seen.add(piece.block)
            counted[piece.block.tensor] += piece.block.size if is_owned else 0
            pieces.append(replace(piece, is_owned=is_owned))
        cut.append(pieces)
    for name, shape in catalogue.shapes.items():
        height, width = matrix_shape(shape)
        if counted[name] != height * width:
            raise ModelError(
                f"expected all {height * width} elements of checkpoint tensor {name!r} in the served parameters, found "
                f"{counted[name]}; vLLM does not serve it as it is stored, use the engine 'torch'"
            )
    return cut


def pack(placed: Placed) -> dict[str, Any]:
    """A placed block as plain values."""
    return asdict(placed)


def unpack(values: Mapping[str, Any]) -> Placed:
    """The placed block that `pack` was given."""
    block = Block(**{**values["block"], "shape": tuple(values["block"]["shape"])})
    return Placed(**{**values, "block": block})


def _runs(follows: NDArray[np.bool_], count: int) -> Iterator[tuple[int, int]]:
    """Half-open ranges of indices in which each one follows the one before."""
    if count == 0:
        return iter(())
    return pairwise([0, *(int(at) + 1 for at in np.flatnonzero(~follows)), count])


def _edges(ranks: Iterable[Iterable[Placed]]) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """Every row and every column at which a block of any rank begins or ends, by tensor, ascending."""
    rows: dict[str, set[int]] = {}
    cols: dict[str, set[int]] = {}
    for block in (placed.block for blocks in ranks for placed in blocks):
        rows.setdefault(block.tensor, set()).update((block.row, block.row + block.rows))
        cols.setdefault(block.tensor, set()).update((block.col, block.col + block.cols))
    return {name: sorted(found) for name, found in rows.items()}, {name: sorted(found) for name, found in cols.items()}


def _cut(placed: Placed, rows: Mapping[str, list[int]], cols: Mapping[str, list[int]]) -> Iterator[Placed]:
    block = placed.block
    for top, bottom in _steps(rows[block.tensor], block.row, block.rows):
        for left, right in _steps(cols[block.tensor], block.col, block.cols):
            piece = replace(block, row=top, col=left, rows=bottom - top, cols=right - left)
            yield replace(placed, block=piece, row=placed.row + top - block.row, col=placed.col + left - block.col)


def _steps(edges: Sequence[int], start: int, count: int) -> Iterator[tuple[int, int]]:
    return pairwise([edge for edge in edges if start <= edge <= start + count])


def _unreadable(parameter: str, row: int) -> ModelError:
    return ModelError(
        f"expected every row of the served parameter {parameter!r} to be a piece of one row of one checkpoint tensor, "
        f"row {row} is not; vLLM rearranges it on loading, use the engine 'torch'"
    )
