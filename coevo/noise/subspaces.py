"""Disjoint random subspaces of the weights, redrawn every step (CoPES, arXiv:2608.02391, section 3).

An element's subspace depends on (run key, step, tensor name, flat index) alone, like its noise. By element it is the
16-bit lane of its own Philox stream, times K, over 2¹⁶; by tile of 4,096 consecutive elements it is one 64-bit hash,
times K, over 2⁶⁴, so a tensor smaller than a tile belongs to one subspace as a whole.
"""

from typing import NamedTuple

import numpy as np

from coevo.interfaces import Partition
from coevo.noise.compiled import Lanes, Words, kernel
from coevo.noise.hashing import hash_of, mix
from coevo.noise.keys import subspace_key
from coevo.noise.philox import fill_lanes
from coevo.noise.walking import Chunk

WHOLE, BY_ELEMENT, BY_TILE = 0, 1, 2
EACH = -1
TILE_BITS = 12
MOST_SUBSPACES = 1 << 16

_TILE_BITS = np.uint64(TILE_BITS)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


class Cut(NamedTuple):
    """How the weights are cut: into one subspace, or into `parts` by element or by tile."""

    unit: np.int64
    key: np.uint64
    parts: np.uint64


def cut_of(run_key: int, step: int, partition: Partition | None) -> Cut:
    """The cut of one step.

    Raises:
        ValueError: If the number of subspaces is not in [1, 65536] or the unit is unknown.
    """
    if partition is None:
        return Cut(np.int64(WHOLE), np.uint64(0), np.uint64(1))
    if not 1 <= partition.count <= MOST_SUBSPACES:
        raise ValueError(f"a partition must have 1 to {MOST_SUBSPACES} subspaces, got {partition.count}")
    if partition.unit not in ("element", "tile"):
        raise ValueError(f"a partition is by element or by tile, got {partition.unit!r}")
    unit = BY_ELEMENT if partition.unit == "element" else BY_TILE
    return Cut(np.int64(unit), np.uint64(subspace_key(run_key, step)), np.uint64(partition.count))


def check_subspace(subspace: int, partition: Partition | None) -> None:
    """Raise ValueError unless `subspace` is one of the partition's (0 without a partition)."""
    count = 1 if partition is None else partition.count
    if not 0 <= subspace < count:
        raise ValueError(f"a subspace must be in [0, {count}), got {subspace}")


@kernel
def subspace_of_tile(cut: Cut, tensor: np.uint64, tile: np.uint64) -> np.int64:
    """Subspace of 4,096 consecutive elements, the first of which has flat index tile · 4096."""
    word = hash_of(mix(cut.key ^ mix(tensor)), tile)
    # Exact multiply-high: K has at most 17 bits.
    low = ((word & _LOW) * cut.parts) >> _HALF
    return np.int64(((word >> _HALF) * cut.parts + low) >> _HALF)


@kernel
def subspace_of_chunk(cut: Cut, tensor: np.uint64, position: np.uint64) -> np.int64:
    """Subspace of all elements of a chunk, or `EACH` if every one has its own."""
    if cut.unit == BY_ELEMENT:
        return np.int64(EACH)
    if cut.unit == BY_TILE:
        return subspace_of_tile(cut, tensor, position >> _TILE_BITS)
    return np.int64(0)


@kernel
def fill_subspaces(subspaces: Lanes, words: Words, cut: Cut, tensor: np.uint64, chunk: Chunk) -> None:
    """subspaces[i] := the subspace of element i of the chunk, for a cut by element."""
    lanes = fill_lanes(words, cut.key, tensor, chunk.position, chunk.length)
    for i in range(chunk.length):
        subspaces[i] = np.uint16((np.uint32(lanes[i]) * np.uint32(cut.parts)) >> np.uint32(16))
