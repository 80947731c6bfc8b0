"""Node ids and indices that heuristics return."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.problemkit.returned import whole_number


@given(st.integers(-(2**63), 2**63 - 1))
def test_integers_in_every_form_are_taken(value):
    """Python's, NumPy's, and arrays of one of them, of any number of dimensions; as a Python int."""
    for form in (value, np.int64(value), np.array(value), np.array([value]), np.array([[value]])):
        taken = whole_number(form, "choose", "index")
        assert (type(taken), taken) == (int, value)
    assert whole_number(np.uint8(value % 256), "choose", "index") == value % 256


@pytest.mark.parametrize(
    ("value", "got"),
    [
        (None, "NoneType None"),
        (1.0, r"float 1\.0"),
        (np.float64(2), "float64 "),
        (np.array([3.0]), r"float 3\.0"),
        (True, "bool True"),
        (np.True_, "bool"),
        (np.array([True]), "bool True"),
        ("4", "str '4'"),
        ([5], r"list \[5\]"),
        (np.array([], dtype=int), "ndarray "),
        (np.array([1, 2]), r"ndarray array\(\[1, 2\]\)"),
        (np.array([None]), "NoneType None"),
        (7j, "complex 7j"),
    ],
)
def test_everything_else_is_refused(value, got):
    """Floats even if whole, booleans, text, lists and arrays of another size; long values are cut."""
    with pytest.raises(TypeError, match=f"expected choose to return an integer index, got {got}"):
        whole_number(value, "choose", "index")
    with pytest.raises(TypeError, match=r"an integer node id, got str '1{39}$"):
        whole_number("1" * 1000, "choose", "node id")
