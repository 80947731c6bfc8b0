"""From what a heuristic returned to weights: what is taken, what is bounded, what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as hnp

from coevo.errors import Infeasible
from coevo.problemkit.colony import check_weights, to_matrix, unit_diagonal
from coevo.problemkit.tours import distance_matrix


def test_weights_have_a_floor_and_a_ceiling():
    """Negative numbers and zeros count as 1e-9, huge ones as 1e100; the matrix that was given stays as it was."""
    given = np.array([[-5.0, 0.0, 1e-12], [1e-9, 2.0, 1e300], [np.finfo(float).max, np.finfo(float).min, 7.0]])
    before = given.copy()
    expected = [[1e-9, 1e-9, 1e-9], [1e-9, 2.0, 1e100], [1e100, 1e-9, 7.0]]
    assert check_weights(given, 3).tolist() == expected
    assert np.array_equal(given, before)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((3, 4)), r"expected a matrix of shape \(3, 3\), got \(3, 4\)"),
        (np.ones(9), r"expected a matrix of shape \(3, 3\), got \(9,\)"),
        (np.float64(1), r"expected a matrix of shape \(3, 3\), got \(\)"),
        (np.ones((3, 3), dtype=np.float32), "expected weights of type float64, got float32"),
        (np.ones((3, 3), dtype=np.int64), "expected weights of type float64, got int64"),
        (np.ones((3, 3), dtype=bool), "expected weights of type float64, got bool"),
        (np.ones((3, 3), dtype=complex), "expected weights of type float64, got complex128"),
        (np.array([[1, 1, 1], [1, 1, np.nan], [np.inf, 1, 1]]), r"the weight at \[1, 2\] is nan; expected finite"),
        (np.array([[1, 1, 1], [1, 1, 1], [-np.inf, 1, 1]]), r"the weight at \[2, 0\] is -inf; expected finite"),
    ],
)
def test_check_weights_refuses_with_a_reason(matrix, message):
    """Each way to be no matrix of weights has its own message."""
    with pytest.raises(Infeasible, match=f"^{message}"):
        check_weights(matrix, 3)


@given(hnp.arrays(hnp.scalar_dtypes(), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)))
def test_check_weights_answers_any_array(array):
    """What comes out of the sandbox is hostile: usable weights, or Infeasible, and nothing else."""
    try:
        weights = check_weights(array, 2)
    except Infeasible:
        return
    assert weights.shape == (2, 2)
    assert weights.min() >= 1e-9
    assert weights.max() <= 1e100


@pytest.mark.parametrize("value", [[[1, 2], [3, 4]], np.eye(2, dtype=np.float32), np.eye(2, dtype=np.uint8), 3])
def test_to_matrix_makes_float64_of_numbers(value):
    """Lists, other types of numbers and single numbers; the result owns its memory."""
    matrix = to_matrix(value)
    assert matrix.dtype == np.float64
    assert matrix.flags.owndata
    assert np.array_equal(matrix, value)


@pytest.mark.parametrize("value", [None, "ab", [[True, False]], [["1"]], [[1j]], {"a": 1}, np.array([None]), len])
def test_to_matrix_refuses_what_is_no_number(value):
    """Booleans, text, complex numbers and objects."""
    with pytest.raises(TypeError, match=r"^expected heuristics to return a matrix of numbers, got "):
        to_matrix(value)


def test_to_matrix_refuses_ragged_rows():
    """In NumPy's own words."""
    with pytest.raises(ValueError, match="inhomogeneous"):
        to_matrix([[1, 2], [3]])


def test_too_large_numbers_become_infinite_and_are_refused():
    """A wider float than ours loses its value, not its meaning."""
    wide = np.full((2, 2), np.longdouble("1e4000")) if np.finfo(np.longdouble).max > 1e308 else np.full((2, 2), np.inf)
    with pytest.raises(Infeasible, match="is inf"):
        check_weights(to_matrix(wide), 2)


def test_unit_diagonal_is_a_copy_that_cannot_be_written_to():
    """Ones where a node meets itself, everything else as it was, the instance untouched."""
    distances = distance_matrix(np.array([[0.0, 0.0], [3.0, 4.0]]))
    handed = unit_diagonal(distances)
    assert handed.tolist() == [[1.0, 5.0], [5.0, 1.0]]
    assert distances.tolist() == [[0.0, 5.0], [5.0, 0.0]]
    with pytest.raises(ValueError, match="read-only"):
        handed[0, 1] = 2.0
