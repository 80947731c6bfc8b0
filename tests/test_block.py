import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.block import Block, matrix_shape


def flat_indices(block):
    """Flat index of every element of a block, from the definition."""
    rows, cols = np.mgrid[block.row : block.row + block.rows, block.col : block.col + block.cols]
    return (rows * block.width + cols).reshape(block.rows, block.cols)


@st.composite
def blocks(draw):
    """A block of a small matrix, empty ones included."""
    height, width = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    row, col = draw(st.integers(0, height)), draw(st.integers(0, width))
    rows, cols = draw(st.integers(0, height - row)), draw(st.integers(0, width - col))
    return Block("w", (height, width), row, col, rows, cols)


@given(blocks(), st.integers(1, 90))
def test_pieces_cover_a_block_once(block, limit):
    """The pieces of a block lie where they say, are no larger than the limit, and hold every element exactly once."""
    indices, seen = flat_indices(block), []
    for piece, down, across in block.pieces(limit):
        assert piece.size <= limit
        assert (flat_indices(piece) == indices[down, across]).all()
        seen += flat_indices(piece).reshape(-1).tolist()
    assert sorted(seen) == sorted(indices.reshape(-1).tolist())


@given(blocks())
def test_start_and_contiguity_follow_the_definition(block):
    """`start` is the first flat index, and a contiguous block holds consecutive ones."""
    indices = flat_indices(block).reshape(-1)
    if len(indices):
        assert block.start == indices[0]
    if block.is_contiguous:
        assert (np.diff(indices) == 1).all()


@pytest.mark.parametrize(("shape", "matrix"), [((), (1, 1)), ((5,), (1, 5)), ((2, 3), (2, 3)), ((2, 3, 4), (6, 4))])
def test_a_tensor_is_a_matrix_of_its_last_dimension(shape, matrix):
    """Vectors are one row; leading dimensions are merged."""
    assert matrix_shape(shape) == matrix
    assert Block.whole("w", shape).size == matrix[0] * matrix[1]


def test_a_block_cannot_leave_its_matrix():
    """A rectangle outside the tensor is refused where it is made."""
    with pytest.raises(ValueError, match="leaves its 2 x 3 matrix"):
        Block("w", (2, 3), 1, 0, 2, 3)
