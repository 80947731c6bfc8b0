import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from coevo import noise
from coevo.block import Block
from coevo.interfaces import Member, Partition
from coevo.noise import oracle


@pytest.mark.parametrize("dtype", [np.float32, np.uint16, np.float16])
@given(data=st.data())
def test_save_perturb_restore_is_the_identity(blocks, members, weights, dtype, data):
    """P6: weights that are their own base come back to the bit, and only touched elements were kept."""
    block, member = data.draw(blocks), data.draw(members())
    assume(block.row < 10**6 or member.rank == 0)
    moved = weights(block, dtype, gap=data.draw(st.sampled_from([0, 3])))
    before = moved.copy()
    saved = noise.save_touched(moved, block, member)
    inside = oracle.subspaces(block, member.run_key, member.step, member.partition) == member.subspace
    assert saved.tobytes() == before[inside].tobytes()
    assert saved.shape == (inside.sum(),)
    noise.perturb(moved, moved, block, member)
    noise.restore_touched(moved, block, member, saved)
    assert moved.tobytes() == before.tobytes()


def test_by_tile_the_backup_is_a_share_of_the_weights(whole, weights):
    """With K subspaces a member's backup has about 1/K of the elements."""
    block = whole("w", 400, 4096)
    saved = noise.save_touched(weights(block, np.uint16), block, Member(1, 0, 0, 1, 0.1, Partition(8, "tile")))
    assert saved.dtype == np.uint16
    assert saved.size % 4096 == 0
    assert abs(saved.size / block.size - 1 / 8) < 4 * (7 / 64 / 400) ** 0.5


@pytest.mark.parametrize(
    ("saved", "text"),
    [
        (np.zeros(5, np.float32), "a backup of 6 elements, got 5"),
        (np.zeros(6, np.uint16), r"a backup of float32 in one row, got \(6,\) of uint16"),
        (np.zeros((1, 6), np.float32), r"in one row, got \(1, 6\)"),
        (np.zeros(12, np.float32)[::2], "in one row"),
    ],
)
def test_another_backup_is_refused(saved, text):
    """A backup of another length, shape or type is not written over the weights."""
    weights = np.ones((1, 6), np.float32)
    with pytest.raises(ValueError, match=text):
        noise.restore_touched(weights, Block.whole("w", (6,)), Member(1, 0, 0, 1, 0.1), saved)
    assert (weights == 1).all()


@pytest.mark.parametrize("count", [0, 4095, 4096, 8193])
def test_a_backup_of_another_member_writes_nothing_beyond_its_end(count):
    """Whatever the length of a backup, what is not of this member's stays inside both arrays, and is told."""
    room, memory = np.ones(3 * 4096, np.float32), np.zeros(count + 64, np.float32)
    with pytest.raises(ValueError, match=f"a backup of 8192 elements, got {count}; load the weights anew"):
        noise.restore_touched(
            room[: 2 * 4096].reshape(2, 4096), Block.whole("w", (2, 4096)), Member(1, 0, 0, 1, 0.1), memory[:count]
        )
    assert (room[2 * 4096 :] == 1).all()
    assert (room[: 2 * 4096] == 0).sum() <= count
