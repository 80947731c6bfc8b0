"""Flat arrays of routes: what is refused and why, and the length."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from coevo.errors import Infeasible
from coevo.problemkit.routes import check_routes, join_routes, routes_length, split_routes

DEMANDS = np.array([0, 3, 2, 5, 0])
CAPACITY = 5


@pytest.mark.parametrize(
    "solution", [[0, 1, 2, 0, 3, 4, 0], [0, 3, 0, 2, 4, 1, 0], [0, 1, 0, 2, 0, 3, 0, 4, 0], [0, 4, 3, 0, 1, 2, 0]]
)
@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint64])
def test_routes_that_serve_everybody_are_returned(solution, dtype):
    """A full vehicle and a demand of zero are fine; any integer type becomes int64."""
    checked = check_routes(np.array(solution, dtype=dtype), DEMANDS, CAPACITY)
    assert checked.tolist() == solution
    assert checked.dtype == np.int64


@pytest.mark.parametrize(
    ("solution", "message"),
    [
        (np.zeros((2, 2), dtype=int), r"expected routes as a 1-D array of node ids, got shape \(2, 2\)"),
        (np.int64(0), r"got shape \(\)"),
        (np.array([0.0, 1, 0]), "expected routes of integer node ids, got float64"),
        (np.array([False, True, False]), "expected routes of integer node ids, got bool"),
        (np.array([0, 1j]), "expected routes of integer node ids, got complex128"),
        (np.array(["0", "1"]), "expected routes of integer node ids, got <U1"),
        (np.array([0, None], dtype=object), "expected routes of integer node ids, got object"),
        ([0, 1, -1, 0], "node -1 at position 2 is not one of 0 to 4"),
        ([0, 5, 0], "node 5 at position 1 is not one of 0 to 4"),
        (np.array([0, 2**64 - 1], dtype=np.uint64), "node 18446744073709551615 at position 1 is not one of 0 to 4"),
        ([0, 1, 2, 1, 0, 3, 4, 0], "customer 1 is served twice, at positions 1 and 3"),
        ([0, 1, 0, 1, 0], "customer 1 is served twice, at positions 1 and 3"),
        ([0, 1, 2, 0, 3, 4, 1], "customer 1 is served twice, at positions 1 and 6"),
        ([0, 1, 3], "route 1 carries 8, more than the capacity 5"),
        ([0, 1, 2, 0, 4, 0, 3, 0, 0], "route at positions 7 and 8 leaves the depot and serves nobody"),
        ([0, 0], "route at positions 0 and 1 leaves the depot and serves nobody"),
        ([0, 4, 0, 2, 3, 0], "route 2 carries 7, more than the capacity 5"),
        ([1, 2, 0, 3, 4, 0], "expected routes that begin and end at the depot 0, got 1 … 0"),
        ([0, 1, 2, 0, 3, 4], "expected routes that begin and end at the depot 0, got 0 … 4"),
        (np.zeros(0, dtype=int), "expected routes that begin and end at the depot 0, got nothing"),
        ([0], "routes serve 0 of 4 customers; customer 1 is missing"),
        ([0, 1, 2, 0, 4, 0], "routes serve 3 of 4 customers; customer 3 is missing"),
    ],
)
def test_each_broken_constraint_is_named(solution, message):
    """With the place, the node or the route."""
    with pytest.raises(Infeasible, match=message):
        check_routes(np.asarray(solution), DEMANDS, CAPACITY)


def test_no_customers_need_no_route():
    """The vehicle stays at the depot; a round trip to nobody is refused there too."""
    assert check_routes(np.array([0]), np.array([0]), 5).tolist() == [0]
    with pytest.raises(Infeasible, match="serves nobody"):
        check_routes(np.array([0, 0]), np.array([0]), 5)


def test_loads_are_exact_beyond_what_floats_hold():
    """A load one unit above the capacity is refused at 2⁶⁰."""
    demands = np.array([0, 2**60, 1])
    with pytest.raises(Infeasible, match=f"carries {2**60 + 1}"):
        check_routes(np.array([0, 1, 2, 0]), demands, 2**60)
    assert check_routes(np.array([0, 1, 2, 0]), demands, 2**60 + 1).size == 4


@given(
    st.one_of(
        arrays.arrays(arrays.scalar_dtypes(), arrays.array_shapes(min_dims=0, max_dims=2, min_side=0)),
        st.lists(st.integers(-1, 5), max_size=9).map(lambda nodes: np.array(nodes, dtype=np.int64)),
    )
)
def test_any_array_is_answered(solution):
    """By routes that serve each customer once, or by Infeasible with a message; it is never changed."""
    before = solution.tobytes()
    try:
        nodes = check_routes(solution, DEMANDS, CAPACITY)
    except Infeasible as refusal:
        nodes = np.array([0, 1, 2, 0, 3, 4, 0]) if str(refusal) else np.zeros(0)
    assert sorted(nodes[nodes > 0].tolist()) == [1, 2, 3, 4]
    assert solution.tobytes() == before


@given(st.lists(st.lists(st.integers(1, 9), max_size=4), max_size=5))
def test_split_undoes_join(routes):
    """All but empty routes come back."""
    flat = join_routes(routes)
    assert flat.dtype == np.int64
    assert [route.tolist() for route in split_routes(flat)] == [route for route in routes if route]


def test_length_by_hand():
    """Ways in their direction, the way back of every route included; without customers it is zero."""
    distances = np.array([[0, 1, 2], [10, 0, 3], [20, 30, 0]])
    assert routes_length(distances, np.array([0, 1, 2, 0])) == 1 + 3 + 20
    assert routes_length(distances, np.array([0, 1, 0, 2, 0])) == 1 + 10 + 2 + 20
    assert routes_length(distances, np.array([0])) == 0
