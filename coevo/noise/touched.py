"""Save what a member of a subspace is about to change, and put it back: a backup of the touched elements only.

With subspaces by tile, time and the size of the backup are about 1/K of those of all weights; by element the size is.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.block import Block
from coevo.interfaces import Member
from coevo.noise.arrays import elements_of
from coevo.noise.compiled import Bits, Count, Lanes, Plain, Words, kernel
from coevo.noise.fields import field_of_member, plain
from coevo.noise.kernels import Field, named
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
    words, stride, _ = elements_of("weights", weights, block)
    field, none = _plain_field(block, member, stride), np.empty(0, words.dtype)
    saved = np.empty(copy_touched(none, words, stride, field, True), words.dtype)
    copy_touched(saved, words, stride, field, True)
    return saved.view(weights.dtype)


def restore_touched(weights: NDArray[Any], block: Block, member: Member, saved: NDArray[Any]) -> None:
    """Put back what `save_touched` has saved, to the bit.

    Args:
        weights: The member's weights, changed in place to the base.
        block: As for `save_touched`.
        member: As for `save_touched`.
        saved: What it returned.

    Raises:
        ValueError: If the backup is of another type or length than this block and member have. Another length shows
            only at the end: a part of the weights may have been written by then.
    """
    words, stride, _ = elements_of("weights", weights, block, is_written=True)
    if saved.dtype != weights.dtype or saved.ndim != 1 or not saved.flags.c_contiguous:
        raise ValueError(f"expected a backup of {weights.dtype} in one row, got {saved.shape} of {saved.dtype}")
    source = saved.view(words.dtype)
    source.setflags(write=False)
    count = copy_touched(words, source, stride, _plain_field(block, member, stride), False)
    if count != saved.size:
        raise ValueError(f"expected a backup of {count} elements, got {saved.size}; load the weights anew")


def _plain_field(block: Block, member: Member, stride: int) -> Plain:
    """The field without factors: which elements are touched depends on neither rank nor basis."""
    return plain(field_of_member(block, replace(member, rank=0, basis=0), stride))


@kernel
def copy_touched(target: Bits, source: Bits, stride: Count, plain_field: Plain, is_saved: bool) -> Count:
    """Copy the elements in the subspace of direction 0 from weights to a backup, in the order of the walk, or back.

    Args:
        target: The backup or the weights.
        source: The weights or the backup.
        stride: Elements of the weights from one row to the next.
        plain_field: The field of a member, as a plain tuple.
        is_saved: Whether the backup is the target.

    Returns:
        How many elements there are. As many whole chunks of them are copied as the backup has room for.
    """
    words, places, field = np.empty(CHUNK // 2, np.uint32), np.empty(CHUNK, np.uint16), named(plain_field)
    done: Count = 0
    room = target.shape[0] if is_saved else source.shape[0]
    chunk = chunk_at(field.grid, 0, 0)
    while chunk.length > 0:
        start, count = chunk.row * stride + chunk.col, find_places(places, words, field, chunk)
        if done + count <= room and is_saved:
            for i in range(count):
                target[done + i] = source[start + places[i]]
        elif done + count <= room:
            for i in range(count):
                target[start + places[i]] = source[done + i]
        done += count
        chunk = chunk_after(field.grid, chunk)
    return done


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
