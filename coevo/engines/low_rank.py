"""Low-rank members: what lets every model of a population answer in one batch.

A member's matrix acts as W + sign · sigma/√r · A·Bᵀ, so its product with x is W·x, shared by the whole batch, plus
(sign · sigma/√r) · A·(Bᵀ·x), a few numbers per row. Embeddings, heads, norms and biases stay those of the base.

A and B are `coevo.noise.factors` of the checkpoint matrix, so that an update moves what the member was.

Source: EGGROLL (arXiv:2511.16652): rank-r factors beside the matrices of a batched forward pass.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from coevo.errors import ConfigError
from coevo.interfaces import Member


class NoiseKey(NamedTuple):
    """What a member's factors depend on; the halves of an antithetic pair share it, and so do all values of sigma."""

    run_key: int
    step: int
    direction: int
    rank: int


def low_rank_rows(members: Sequence[Member | None], count: int) -> list[Member | None]:
    """The member whose factors each row of a batch adds; None for rows that the served weights answer as they are.

    Args:
        members: One per row, or empty where no row has one. The base (None) and dense members (rank 0, served by
            weights that are moved) add nothing.
        count: Number of rows.

    Raises:
        ValueError: If there are some members, but not one per row.
        ConfigError: If a low-rank member moves one subspace only, which no product of two factors does.
    """
    if members and len(members) != count:
        raise ValueError(f"expected a member or None for each of {count} rows, got {len(members)}")
    found = [member if member is not None and member.rank > 0 else None for member in members or [None] * count]
    for member in found:
        if member is not None and member.partition is not None:
            raise ConfigError(
                f"expected low-rank members without subspaces, got rank {member.rank} in one of "
                f"{member.partition.count} subspaces; set the rank to 0 or the number of subspaces to 1"
            )
    return found


def noise_key(member: Member) -> NoiseKey:
    """What the factors of a low-rank member depend on."""
    return NoiseKey(member.run_key, member.step, member.direction, member.rank)


def member_scale(member: Member) -> np.float32:
    """The factor of A·Bᵀ: sign · sigma/√r, fp32."""
    return np.float32(np.float32(member.sign * member.sigma) / math.sqrt(member.rank))
