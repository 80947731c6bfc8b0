"""Save what a member of a subspace is about to change, and put it back: a backup of the touched elements only.

With subspaces by tile, time and the size of the backup are about 1/K of those of all weights; by element the size is.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.block import Block
from coevo.interfaces import Member
from coevo.noise.arrays import cells_of
from coevo.noise.compiled import Bits, Count, Lanes, Words, kernel
from coevo.noise.fields import field_of_member, fitted
from coevo.noise.formats import Cells
from coevo.noise.kernels import Field
from coevo.noise.philox import CHUNK
from coevo.noise.subspaces import EACH, fill_subspaces, subspace_of_chunk
from coevo.noise.walking import Chunk, chunk_after, chunk_at


def save_touched(weights: NDArray[Any], block: Block, member: Member) -> NDArray[Any]:
    """What the elements are that a member is about to change.

    Args:
        weights: Unperturbed weights as `perturb` takes them, shape (block.rows, block.cols); not changed.
        block: Where the elements lie in their tensor.
        member: Without a partition it touches everything.

    Returns:
        A 1-D array of the type of `weights`, for `restore_touched` with the same block and member.

    Raises:
        ValueError: If array or member are not as described.
    """
    cells, field = _cells_and_field(weights, block, member, is_written=False)
    saved = np.empty(count_elements(field) if block.size else 0, weights.dtype)
    if saved.size:
        save_elements(saved.view(cells.words.dtype), cells, field)
    return saved


def restore_touched(weights: NDArray[Any], block: Block, member: Member, saved: NDArray[Any]) -> None:
    """Put back what `save_touched` has saved, to the bit.

    Args:
        weights: The member's weights, changed in place to the base.
        block: As for `save_touched`.
        member: As for `save_touched`.
        saved: What it returned.

    Raises:
        ValueError: If the backup is of another type or length than this block and member have.
    """
    cells, field = _cells_and_field(weights, block, member, is_written=True)
    count = int(count_elements(field)) if block.size else 0
    if saved.dtype != weights.dtype or saved.shape != (count,) or not saved.flags.c_contiguous:
        raise ValueError(
            f"expected a backup of {count} elements of {weights.dtype}, got {saved.shape} of {saved.dtype}"
        )
    if count:
        words = saved.view(cells.words.dtype)
        words.flags.writeable = False
        restore_elements(cells, words, field)


def _cells_and_field(weights: NDArray[Any], block: Block, member: Member, *, is_written: bool) -> tuple[Cells, Field]:
    cells = cells_of("weights", weights, block, is_written=is_written)
    return cells, fitted(field_of_member(block, member), block, cells)


@kernel
def find_places(places: Lanes, words: Words, field: Field, chunk: Chunk) -> Count:
    """List the elements of a chunk that lie in the subspace of direction 0; return how many there are."""
    subspace = subspace_of_chunk(field.cut, field.grid.tensor, chunk.position)
    if subspace != EACH and subspace != field.noise.subspaces[0]:
        return 0
    for i in range(chunk.length):
        places[i] = np.uint16(i)
    if subspace != EACH:
        return chunk.length
    found: Count = 0
    mine = np.uint16(field.noise.subspaces[0])
    subspaces = np.empty(CHUNK, np.uint16)
    fill_subspaces(subspaces, words, field.cut, field.grid.tensor, chunk)
    for i in range(chunk.length):
        places[found] = np.uint16(i)
        found += np.int64(subspaces[i] == mine)
    return found


@kernel
def count_elements(field: Field) -> Count:
    """How many elements lie in the subspace of direction 0."""
    words, places = np.empty(CHUNK // 2, np.uint32), np.empty(CHUNK, np.uint16)
    total: Count = 0
    chunk = chunk_at(field.grid, 0, 0)
    while chunk.length > 0:
        total += find_places(places, words, field, chunk)
        chunk = chunk_after(field.grid, chunk)
    return total


@kernel
def save_elements(saved: Bits, cells: Cells, field: Field) -> None:
    """Copy the elements in the subspace of direction 0, in the order of the walk."""
    words, places, done = np.empty(CHUNK // 2, np.uint32), np.empty(CHUNK, np.uint16), 0
    chunk = chunk_at(field.grid, 0, 0)
    while chunk.length > 0:
        start = chunk.row * cells.stride + chunk.col
        for i in range(find_places(places, words, field, chunk)):
            saved[done] = cells.words[start + places[i]]
            done += 1
        chunk = chunk_after(field.grid, chunk)


@kernel
def restore_elements(cells: Cells, saved: Bits, field: Field) -> None:
    """Copy back what `save_elements` has copied."""
    words, places, done = np.empty(CHUNK // 2, np.uint32), np.empty(CHUNK, np.uint16), 0
    chunk = chunk_at(field.grid, 0, 0)
    while chunk.length > 0:
        start = chunk.row * cells.stride + chunk.col
        for i in range(find_places(places, words, field, chunk)):
            cells.words[start + places[i]] = saved[done]
            done += 1
        chunk = chunk_after(field.grid, chunk)
