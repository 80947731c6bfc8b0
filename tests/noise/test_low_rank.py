import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo import noise
from coevo.block import Block
from coevo.interfaces import Member, Update


def displaced(block, member):
    """A member's weights at base 0: sign · sigma · ε."""
    out = np.empty((block.rows, block.cols), np.float32)
    noise.perturb(np.zeros_like(out), out, block, member)
    return out


@given(rows=st.integers(1, 30), cols=st.integers(1, 30), rank=st.integers(1, 5))
def test_factors_are_the_noise_of_two_tensors_and_make_up_the_member(rows, cols, rank):
    """A and B are the noise of "<name>#A" and "<name>#B", and A · Bᵀ/√r is what a member of that rank adds."""
    member = Member(1, 2, 3, -1, 0.5, rank=rank)
    left, right = noise.factors("w", (rows, cols), member)
    assert left.tobytes() == noise.normals(Block.whole("w#A", (rows, rank)), 1, 2, 3).tobytes()
    assert right.tobytes() == noise.normals(Block.whole("w#B", (cols, rank)), 1, 2, 3).tobytes()
    expected = -0.5 * (left.astype(np.float64) @ right.T.astype(np.float64)) / math.sqrt(rank)
    np.testing.assert_allclose(displaced(Block.whole("w", (rows, cols)), member), expected, atol=3e-6)


@pytest.mark.parametrize("rank", [1, 4])
def test_the_variance_of_low_rank_noise_is_one(rank):
    """ε = A · Bᵀ/√r has mean 0 and variance 1; both factors are averaged over, so the error follows their sizes."""
    size = 700
    epsilon = displaced(Block.whole("w", (size, size)), Member(5, 0, 0, 1, 1.0, rank=rank)).astype(np.float64)
    assert abs(epsilon.mean()) < 4 / size
    assert abs(epsilon.var() - 1.0) < 4 * math.sqrt(2 * 2 / (size * rank))
    assert np.linalg.matrix_rank(epsilon, tol=1e-3 * size) == rank


def test_directions_and_tensors_have_their_own_factors():
    """P9: low-rank noise of another direction, step or tensor is uncorrelated."""
    cases = [("w", 0, 0), ("w", 0, 1), ("w", 1, 0), ("v", 0, 0)]
    rows = [
        np.concatenate([f.ravel() for f in noise.factors(n, (900, 900), Member(1, s, d, 1, 1.0, rank=4))])
        for n, s, d in cases
    ]
    correlations = np.corrcoef(rows)[np.triu_indices(len(rows), 1)]
    assert np.abs(correlations).max() < 4 / math.sqrt(rows[0].size)


def test_dense_work_from_factors_needs_no_full_size_memory():
    """P26: perturbing and updating a matrix at low rank allocates factors and scratch, a small part of the matrix."""
    block = Block.whole("w", (1500, 1500))
    base, member = np.zeros((1500, 1500), np.float32), Member(1, 0, 0, 1, 0.1, rank=2)
    out, update = np.empty_like(base), Update(1, 0, (0, 1, 2), (0.1, 0.2, 0.3), rank=2)
    for _ in range(2):
        tracemalloc.start()
        noise.perturb(base, out, block, member)
        noise.apply_update(out, block, update, "master")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert out.any()
    assert peak < base.nbytes / 20


def test_factors_of_a_dense_member_are_refused():
    """A member of rank 0 has no factors."""
    with pytest.raises(ValueError, match="rank of at least 1, got 0"):
        noise.factors("w", (3, 4), Member(1, 2, 3, 1, 0.1))
