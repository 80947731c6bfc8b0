import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from coevo.authoring.mutation import broken, changed

SOLUTIONS = st.one_of(
    hnp.arrays(np.int64, hnp.array_shapes(min_dims=0, max_dims=2, min_side=0), elements=st.integers(-5, 99)),
    hnp.arrays(np.uint8, hnp.array_shapes(min_dims=1, max_dims=1, min_side=0), elements=st.integers(0, 255)),
    hnp.arrays(np.bool_, hnp.array_shapes(min_dims=0, max_dims=2, min_side=0)),
    hnp.arrays(np.float64, hnp.array_shapes(min_dims=0, max_dims=2, min_side=0), elements=st.floats(-9, 9)),
)


@given(SOLUTIONS, st.integers(0, 2**32))
def test_a_changed_solution_is_again_an_array_of_its_type(solution, seed):
    """Whatever the shape, empty ones included; the solution itself stays as it was, and the seed decides."""
    before = solution.copy()
    after = changed(solution, np.random.default_rng(seed))
    assert after.dtype == solution.dtype
    assert after.ndim == solution.ndim
    np.testing.assert_array_equal(solution, before)
    np.testing.assert_array_equal(after, changed(solution, np.random.default_rng(seed)))


def test_changes_reach_every_neighbour():
    """Swaps, other orders, fewer and more entries, and other numbers all occur."""
    solution, rng = np.arange(4), np.random.default_rng(0)
    seen = [changed(solution, rng).tolist() for _ in range(400)]
    assert {3, 4, 5} <= {len(each) for each in seen}
    assert any(sorted(each) == [0, 1, 2, 3] and each != [0, 1, 2, 3] for each in seen)
    assert any(4 in each for each in seen)


@given(SOLUTIONS)
def test_broken_solutions_differ_from_the_solution(solution):
    """Each is of another shape, or holds what the solution does not; negative and huge ones are of integers alone."""
    words = dict(broken(solution))
    assert np.isnan(words.pop("filled with NaN")).all()
    assert words.pop("with one more dimension").ndim == solution.ndim + 1
    assert ("a single number" in words) == (solution.ndim > 0)
    words.pop("a single number", None)
    assert len(words) == (2 if solution.dtype.kind in "iu" else 0)


@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.bool_])
def test_a_single_number_can_be_changed(dtype):
    """A solution without dimensions stays one and becomes another."""
    solution, rng = np.array(1, dtype=dtype), np.random.default_rng(1)
    assert len({changed(solution, rng).item() for _ in range(20)}) > 1
