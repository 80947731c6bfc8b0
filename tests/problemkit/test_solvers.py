"""Reference solvers: what they return is a solution, from the smallest instances on, and optimal where it can be."""

import sys
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coevo.errors import ConfigError, ExtraMissingError
from coevo.problemkit import solvers
from coevo.problemkit.tours import check_tour, distance_matrix, tour_length


def points(seed, size):
    """Random points in the unit square, two of them the same if there are more than four."""
    made = np.random.default_rng(seed).random((size, 2))
    made[4:5] = made[:1]
    return made


def shortest(distances):
    """Length of the shortest tour, of all of them."""
    tours = (np.array([0, *rest]) for rest in permutations(range(1, len(distances))))
    return min(tour_length(distances, tour) for tour in tours)


def by_ortools(distances):
    """A tour in as little time as suffices for a few nodes."""
    return solvers.ortools_tour(distances, seconds=0.05)


@pytest.mark.parametrize("solve", [solvers.lkh_tour, by_ortools])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("kind", ["points", "whole", "zero", "asymmetric", "far"])
def test_tours_of_few_nodes_are_shortest(solve, size, kind):
    """Real, whole, all-zero, asymmetric and huge distances; the tour is int64 and starts at node 0."""
    distances = {
        "points": distance_matrix(points(size, size)),
        "whole": np.rint(100 * distance_matrix(points(size, size))),
        "zero": np.zeros((size, size)),
        "asymmetric": np.random.default_rng(size).random((size, size)),
        "far": 1e11 * distance_matrix(points(size, size)),
    }[kind]
    tour = solve(distances)
    assert tour.dtype == np.int64
    assert tour[0] == 0
    assert tour_length(distances, check_tour(tour, size)) == pytest.approx(shortest(distances), rel=1e-6)


@pytest.mark.parametrize("solve", [solvers.lkh_tour, by_ortools])
def test_no_nodes_make_an_empty_tour(solve):
    """Nothing to visit."""
    assert solve(np.zeros((0, 0))).tolist() == []


def test_lkh_is_deterministic():
    """The same tour again, bit for bit."""
    distances = distance_matrix(points(5, 80))
    assert np.array_equal(solvers.lkh_tour(distances), solvers.lkh_tour(distances))


@pytest.mark.parametrize("scale", [1, 0.1, 10])
def test_routes_by_hand(scale):
    """Four customers, two and two at opposite ends; one vehicle carries two of them, in any unit of load."""
    distances = distance_matrix(np.array([[0.0, 0.0], [-5, 0], [-4, 0], [4, 0], [5, 0]]))
    demands = scale * np.array([0, 1, 2, 2, 1])
    routes = solvers.pyvrp_routes(distances, demands, 3 * scale, seed=1, seconds=0.2)
    assert sorted(sorted(route) for route in routes) == [[1, 2], [3, 4]]


@given(st.integers(0, 6), st.integers(0, 2**32 - 1))
@settings(max_examples=5, deadline=None)
def test_routes_serve_every_customer_within_capacity(customers, seed):
    """Demands from 0 up to the whole capacity; the same seed gives the same routes."""
    rng = np.random.default_rng(seed)
    distances = distance_matrix(points(seed, customers + 1))
    demands = rng.integers(0, 11, customers + 1)
    routes = solvers.pyvrp_routes(distances, demands, 10, seed=3, seconds=10)
    assert sorted(node for route in routes for node in route) == list(range(1, customers + 1))
    assert all(len(route) > 0 and demands[route].sum() <= 10 for route in routes)
    assert routes == solvers.pyvrp_routes(distances, demands, 10, seed=3, seconds=10)


def test_routes_are_much_shorter_than_a_way_to_each_customer_and_back():
    """Distances of very different size to the loads do not mislead it: 40 customers, metres and tonnes."""
    rng = np.random.default_rng(2)
    distances = distance_matrix(1000 * rng.random((41, 2)))
    demands = np.r_[0, rng.integers(1, 10, 40)] / 1000
    routes = solvers.pyvrp_routes(distances, demands, 0.05, seed=0, seconds=0.5)
    length = sum(distances[leg] for route in routes for leg in pairwise((0, *route, 0)))
    assert max(demands[route].sum() for route in routes) <= 0.05 + 1e-12
    assert length < 0.3 * 2 * distances[0].sum()


@pytest.mark.parametrize(
    ("demands", "message"),
    [([0, 4], "expected no demand above the capacity 3, got 4"), ([0, 1 / 3], "with at most 6 decimals")],
)
def test_impossible_loads_are_refused(demands, message):
    """A customer that no vehicle can serve, and a demand that is no decimal number."""
    with pytest.raises(ValueError, match=message):
        solvers.pyvrp_routes(np.ones((2, 2)), np.array(demands), 3, seed=0, seconds=0.1)


@pytest.mark.parametrize(
    ("package", "extra", "call"),
    [
        ("elkai", "lkh", lambda: solvers.lkh_tour(np.zeros((5, 5)))),
        ("ortools", "solvers", lambda: by_ortools(np.zeros((5, 5)))),
        ("pyvrp", "solvers", lambda: solvers.pyvrp_routes(np.zeros((2, 2)), np.zeros(2), 1, seed=0, seconds=0.1)),
    ],
)
def test_a_missing_package_is_named_with_its_extra(monkeypatch, package, extra, call):
    """The message says what to install."""
    for name in [name for name in sys.modules if name.partition(".")[0] == package] or [package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ExtraMissingError, match=rf"expected the package {package} for .*'coevo\[{extra}\]'") as caught:
        call()
    assert isinstance(caught.value, ConfigError)
