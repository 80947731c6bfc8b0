"""Tours: the permutation check answers any array, and the length is a property of the cycle."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from coevo.errors import Infeasible
from coevo.problemkit.tours import check_tour, distance_matrix, tour_length

SQUARE = np.array([[0.0, 0.0], [0.0, 3.0], [4.0, 3.0], [4.0, 0.0]])


def test_distance_matrix_of_a_rectangle_is_worked_out_by_hand():
    """Sides 3 and 4, diagonal 5."""
    expected = [[0, 3, 5, 4], [3, 0, 4, 5], [5, 4, 0, 3], [4, 5, 3, 0]]
    assert np.array_equal(distance_matrix(SQUARE), expected)


def test_tour_length_follows_the_direction_of_the_matrix():
    """On an asymmetric matrix the way from a to b is read at [a, b]."""
    ways = np.array([[0, 1, 20], [30, 0, 2], [3, 10, 0]])
    assert tour_length(ways, np.array([0, 1, 2])) == 6
    assert tour_length(ways, np.array([2, 1, 0])) == 60


@given(st.integers(2, 12), st.randoms(use_true_random=False), st.integers(0, 11))
def test_tour_length_ignores_start_and_direction(size, random, shift):
    """A closed tour has one length, wherever it is entered and whichever way it is walked."""
    distances = distance_matrix(np.array([[random.random(), random.random()] for _ in range(size)]))
    tour = np.array(random.sample(range(size), size))
    length = tour_length(distances, tour)
    assert tour_length(distances, np.roll(tour, shift)) == pytest.approx(length, abs=1e-12)
    assert tour_length(distances, tour[::-1]) == pytest.approx(length, abs=1e-12)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
def test_check_tour_returns_a_permutation_as_int64(dtype):
    """Any integer type is accepted, and comes back as int64."""
    nodes = check_tour(np.array([2, 0, 1], dtype=dtype), 3)
    assert nodes.dtype == np.int64
    assert nodes.tolist() == [2, 0, 1]


@pytest.mark.parametrize(
    ("tour", "message"),
    [
        (np.array([[0, 1, 2, 3]]), r"expected a tour as a 1-D array of node ids, got shape \(1, 4\)"),
        (np.array(0), r"expected a tour as a 1-D array of node ids, got shape \(\)"),
        (np.array([0.0, 1.0, 2.0, 3.0]), "expected a tour of integer node ids, got float64"),
        (np.arange(4, dtype="m8[s]"), r"expected a tour of integer node ids, got timedelta64\[s\]"),
        (np.array([True, False, True, False]), "expected a tour of integer node ids, got bool"),
        (np.array([0, 1, -1, 3]), "node -1 at position 2 is not one of 0 to 3"),
        (np.array([0, 1, 4]), "node 4 at position 2 is not one of 0 to 3"),
        (np.array([0, 2**63], dtype=np.uint64), "node 9223372036854775808 at position 1 is not one of 0 to 3"),
        (np.array([0, 2, 1, 2]), "node 2 is visited twice, at positions 1 and 3"),
        (np.array([0, 1, 2, 3, 0]), "node 0 is visited twice, at positions 0 and 4"),
        (np.array([0, 3, 2]), "tour visits 3 of 4 nodes; node 1 is missing"),
        (np.array([], dtype=np.int64), "tour visits 0 of 4 nodes; node 0 is missing"),
    ],
)
def test_check_tour_names_the_broken_constraint(tour, message):
    """Each way to be no tour has its own message."""
    with pytest.raises(Infeasible, match=f"^{message}$"):
        check_tour(tour, 4)


@given(hnp.arrays(hnp.scalar_dtypes(), hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=5)))
def test_check_tour_answers_any_array_by_a_permutation_or_by_infeasible(array):
    """What comes out of the sandbox is hostile: no array makes the check fail in another way."""
    try:
        nodes = check_tour(array, 4)
    except Infeasible:
        return
    assert sorted(nodes.tolist()) == [0, 1, 2, 3]
