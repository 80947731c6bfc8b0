import math

import numpy as np
import pytest

from coevo.engines.low_rank import low_rank_rows, member_scale, noise_key
from coevo.errors import ConfigError
from coevo.interfaces import Member, Partition


def member(**changes):
    """A low-rank member."""
    return Member(**{"run_key": 7, "step": 1, "direction": 2, "sign": 1, "sigma": 0.1, "rank": 2, **changes})


def test_only_low_rank_members_add_to_their_rows():
    """The base and dense members are answered by the weights as they are served."""
    dense, low = member(rank=0), member()
    assert low_rank_rows([None, dense, low], 3) == [None, None, low]
    assert low_rank_rows([member(rank=0, partition=Partition(4))], 1) == [None]
    assert low_rank_rows([], 2) == [None, None]


def test_members_and_rows_have_to_match():
    """A member too few is an error of the caller, not a row of the base."""
    with pytest.raises(ValueError, match="each of 3 rows, got 2"):
        low_rank_rows([None, member()], 3)


def test_a_low_rank_member_moves_all_subspaces():
    """Masked factors are no product of factors: the combination is refused and both ways out are named."""
    with pytest.raises(ConfigError, match=r"rank 2 in one of 4 subspaces; set the rank to 0 or"):
        low_rank_rows([member(partition=Partition(4))], 1)


def test_the_halves_of_a_pair_share_their_noise():
    """Sign and sigma are in the scale alone; run, step, direction and rank are what the factors depend on."""
    assert noise_key(member()) == noise_key(member(sign=-1, sigma=0.3))
    others = ({"run_key": 8}, {"step": 0}, {"direction": 3}, {"rank": 1})
    assert len({noise_key(member(**change)) for change in others} | {noise_key(member())}) == 5


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_the_scale_keeps_the_variance(rank):
    """A sum of r products of normals, times sigma/√r, has standard deviation sigma whatever r."""
    scale = member_scale(member(rank=rank, sign=-1))
    assert scale.dtype == np.float32
    assert scale == pytest.approx(-0.1 / math.sqrt(rank), rel=1e-6)
