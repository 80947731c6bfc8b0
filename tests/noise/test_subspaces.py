import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo import noise
from coevo.block import Block
from coevo.interfaces import Member, Partition
from coevo.noise import oracle

PARTITIONS = [Partition(count, unit) for count in (1, 2, 3, 8) for unit in ("element", "tile")]


def touched(block, partition, subspace, step=0, run_key=1):
    """Which elements a member of a subspace moves: an offset of 1 against a base of 0."""
    out = np.empty((block.rows, block.cols), np.float32)
    noise.perturb(np.zeros_like(out), out, block, Member(run_key, step, 2, 1, 1.0, partition, subspace))
    return out != 0


@pytest.mark.parametrize("partition", PARTITIONS)
def test_subspaces_are_disjoint_and_cover_everything(whole, partition):
    """Every element is moved by the members of exactly one subspace, and each subspace has about d/K of them."""
    block = whole("w", 40, 4096)
    masks = np.array([touched(block, partition, subspace) for subspace in range(partition.count)])
    assert (masks.sum(axis=0) == 1).all()
    units = block.size if partition.unit == "element" else block.size // 4096
    share = 1 / partition.count
    error = math.sqrt(share * (1 - share) / units)
    assert np.abs(masks.mean(axis=(1, 2)) - share).max() <= 4 * error


@pytest.mark.parametrize("unit", ["element", "tile"])
def test_subspaces_are_redrawn_every_step_and_for_every_tensor(unit):
    """Another step, run or tensor is cut independently: a quarter of two subspaces' product is shared, not more."""
    size = 4096 * 400
    places = np.arange(0, size, 4096)
    cases = [("w", 1, 0), ("w", 1, 1), ("w", 2, 0), ("v", 1, 0)]
    rows = []
    for tensor, run_key, step in cases:
        row = [
            oracle.subspaces(Block(tensor, (size,), 0, int(place), 1, 1), run_key, step, Partition(2, unit))[0, 0]
            for place in places
        ]
        rows.append(np.array(row) - 0.5)
    correlations = np.corrcoef(rows)[np.triu_indices(len(rows), 1)]
    assert np.abs(correlations).max() < 4 / math.sqrt(len(places))


def test_a_tile_is_moved_as_a_whole_and_small_tensors_are_one_tile():
    """Tiles are 4,096 consecutive elements of the flat tensor, across its rows."""
    mask = touched(Block.whole("w", (1000, 96)), Partition(4, "tile"), 1).reshape(-1)
    tiles = mask[: 23 * 4096].reshape(23, 4096)
    assert (tiles.all(axis=1) | ~tiles.any(axis=1)).all()
    assert 0 < tiles.all(axis=1).sum() < 23
    for name in "abcdefgh":
        small = touched(Block.whole(name, (60, 60)), Partition(2, "tile"), 0)
        assert small.all() or not small.any()


@given(data=st.data(), partition=st.sampled_from(PARTITIONS))
def test_the_noise_of_a_subspace_is_the_noise_of_the_whole(blocks, data, partition):
    """Inside its subspace a member has the bits of the same member without a partition."""
    block = data.draw(blocks)
    base, part, full = (np.zeros((block.rows, block.cols), np.float32) for _ in range(3))
    noise.perturb(base, full, block, Member(3, 4, 5, 1, 0.5))
    noise.perturb(base, part, block, Member(3, 4, 5, 1, 0.5, partition, 0))
    mask = touched(block, partition, 0, step=4, run_key=3)
    assert (part == np.where(mask, full, 0)).all()
