"""The ant colony: its rules by hand and against other versions of it, and its laws."""

from contextlib import contextmanager
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from coevo.content import load_module
from coevo.interfaces import Instance
from coevo.problemkit import colony, colony_kernels
from coevo.problemkit.colony import cheapest_routes, check_weights, leading, shortest_tour, weights_along
from coevo.problemkit.routes import check_routes, join_routes, routes_length
from coevo.problemkit.tours import check_tour, distance_matrix, tour_length

KERNELS = ("walk_tours", "walk_routes", "path_costs", "mark_paths")
PLAIN = load_module(Path(__file__).parents[1] / "benchmarks" / "plain_aco.py")

LAST = 1 - 2**-53
"""The largest number that a generator of uniforms returns."""

compiling = settings(deadline=None, max_examples=30)
"""The first example may have to wait for Numba."""


@st.composite
def tour_problems(draw):
    """Distances, weights and a seed; points on a small grid, so that some coincide."""
    size = draw(st.integers(1, 9))
    points = draw(hnp.arrays(np.float64, (size, 2), elements=st.integers(0, 4).map(float)))
    weights = draw(hnp.arrays(np.float64, (size, size), elements=st.floats(-2, 50)))
    return distance_matrix(points), check_weights(weights, size), draw(st.integers(0, 2**32))


@st.composite
def route_problems(draw):
    """The same with demands and a capacity: some demands are 0, some fill a vehicle."""
    distances, weights, seed = draw(tour_problems())
    capacity = draw(st.integers(0, 12))
    demands = draw(hnp.arrays(np.int64, len(distances), elements=st.integers(0, capacity)))
    return distances, weights, demands, capacity, seed


@contextmanager
def small_colony(*, numba=True):
    """Seven ants and nine iterations in every version, with kernels that are compiled or run by the interpreter."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (colony, PLAIN):
            patch.setattr(module, "NUM_ANTS", 7)
            patch.setattr(module, "NUM_ITERATIONS", 9)
        for name in () if numba else KERNELS:
            patch.setattr(colony_kernels, name, getattr(colony_kernels, name).py_func)
        yield


def bits(cost, path):
    """What is compared where results have to be the same to the last bit."""
    return float(cost).hex(), list(map(int, path))


def random_problem(seed, size, power=2):
    """Distances between random points, and a power of their closeness as weights."""
    distances = distance_matrix(np.random.default_rng(seed).random((size, 2)))
    return distances, check_weights(1 / colony.unit_diagonal(distances) ** power, size)


@compiling
@given(tour_problems())
def test_shortest_tour_is_the_same_without_numba(problem):
    """Kernels run by the interpreter, and the version that shares no code, find the same tour at the same cost."""
    with small_colony():
        found = shortest_tour(*problem)
        assert bits(*PLAIN.plain_tour(*problem)) == bits(found.cost, found.path)
    with small_colony(numba=False):
        interpreted = shortest_tour(*problem)
    assert bits(interpreted.cost, interpreted.path) == bits(found.cost, found.path)


@compiling
@given(route_problems())
def test_cheapest_routes_are_the_same_without_numba(problem):
    """The same of routes."""
    with small_colony():
        found = cheapest_routes(*problem)
        assert bits(*PLAIN.plain_routes(*problem)) == bits(found.cost, found.path)
    with small_colony(numba=False):
        interpreted = cheapest_routes(*problem)
    assert bits(interpreted.cost, interpreted.path) == bits(found.cost, found.path)


@pytest.mark.slow
@pytest.mark.parametrize("size", [20, 33])
def test_a_whole_colony_agrees_with_the_plain_version(size):
    """30 ants and 100 iterations, at a size at which sums are long."""
    distances, weights = random_problem(size, size)
    demands = np.random.default_rng(size).integers(0, 10, size)
    found = shortest_tour(distances, weights, 5)
    assert bits(*PLAIN.plain_tour(distances, weights, 5)) == bits(found.cost, found.path)
    found = cheapest_routes(distances, weights, demands, 25, 5)
    assert bits(*PLAIN.plain_routes(distances, weights, demands, 25, 5)) == bits(found.cost, found.path)


@compiling
@given(tour_problems())
def test_found_tour_is_closed_and_has_its_cost(problem):
    """A permutation with its first node again at the end, and the length of that."""
    with small_colony():
        found = shortest_tour(*problem)
    assert found.path[0] == found.path[-1]
    tour = check_tour(found.path[:-1], len(problem[0]))
    assert found.cost == pytest.approx(tour_length(problem[0], tour), abs=1e-12)


@compiling
@given(route_problems())
def test_found_routes_are_feasible_and_have_their_cost(problem):
    """Every customer once, never more than the capacity, and the length of that."""
    distances, _, demands, capacity, _ = problem
    with small_colony():
        found = cheapest_routes(*problem)
    visits = check_routes(found.path, demands, capacity)
    assert found.cost == pytest.approx(routes_length(distances, visits), abs=1e-12)


@compiling
@given(route_problems(), st.data())
def test_every_ant_walks_feasible_routes_whatever_is_drawn(problem, data):
    """Also with the smallest and the largest uniform there is, which pick the first and the last that is possible."""
    distances, weights, demands, capacity, _ = problem
    drawn = st.one_of(st.sampled_from([0.0, LAST]), st.floats(0, LAST))
    uniforms = data.draw(hnp.arrays(np.float64, (4, 2 * len(distances) - 2), elements=drawn))
    paths = np.full((4, 2 * len(distances) - 1), -9)
    sizes = colony_kernels.walk_routes(weights, demands, capacity, uniforms, paths)
    for path, size in zip(paths, sizes, strict=True):
        check_routes(path[:size], demands, capacity)
        assert np.all(path[size:] == -9)


@compiling
@given(tour_problems(), st.data())
def test_every_ant_walks_a_tour_whatever_is_drawn(problem, data):
    """The same of tours."""
    size = len(problem[0])
    drawn = st.one_of(st.sampled_from([0.0, LAST]), st.floats(0, LAST))
    uniforms = data.draw(hnp.arrays(np.float64, (4, size), elements=drawn))
    paths = np.full((4, size + 1), -9)
    colony_kernels.walk_tours(problem[1], uniforms, paths)
    for path in paths:
        check_tour(path[:-1], size)
        assert path[0] == path[-1]


def test_ants_choose_in_proportion_to_attraction():
    """Of 40,000 ants at node 0, the shares that go on to each node are as the row says, within 4 standard errors."""
    attraction, count = np.array([[9.0, 1.0, 2.0, 5.0]] * 4), 40_000
    uniforms = np.random.default_rng(1).random((count, 4))
    uniforms[:, 0] = 0.0
    paths = np.zeros((count, 5), np.int64)
    colony_kernels.walk_tours(attraction, uniforms, paths)
    expected = np.array([0, 1, 2, 5]) / 8
    shares = np.bincount(paths[:, 1], minlength=4) / count
    assert np.all(np.abs(shares - expected) <= 4 * np.sqrt(expected * (1 - expected) / count))
    # Of the ants that went to node 3, the next step is between nodes 1 and 2 alone.
    second = np.bincount(paths[paths[:, 1] == 3, 2], minlength=4)
    assert second[[0, 3]].sum() == 0
    assert second[2] / second.sum() == pytest.approx(2 / 3, abs=4 * np.sqrt(2 / 9 / second.sum()))


def test_routes_choose_the_depot_in_proportion_too():
    """At a customer with room to spare, going home competes with going on; at the depot, staying does not."""
    attraction, count = np.array([[7.0, 1.0, 1.0], [3.0, 1.0, 1.0], [3.0, 1.0, 1.0]]), 40_000
    paths = np.zeros((count, 5), np.int64)
    uniforms = np.random.default_rng(2).random((count, 4))
    colony_kernels.walk_routes(attraction, np.array([0, 1, 1]), 2, uniforms, paths)
    assert np.all(paths[:, 1] > 0)
    assert np.mean(paths[:, 2] == 0) == pytest.approx(0.75, abs=4 * np.sqrt(0.75 * 0.25 / count))


def test_an_ant_that_is_done_neither_pays_nor_marks():
    """Three customers on a line: the ant that serves them on one route costs 6 while another walks 12, step by step."""
    distances = distance_matrix(np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]))
    demands = np.ones(4, np.int64)
    attraction = np.ones((4, 4))
    # Places among the unserved and, last, the depot, by quarters: the first ant takes the first customer each time,
    # the second one goes home after each.
    uniforms = np.array([[0.0, 0.4, 0.0, 0.0, 0.0, 0.0], [0.0, LAST, 0.0, LAST, 0.0, 0.0]])
    paths = np.full((2, 7), -1)
    sizes = colony_kernels.walk_routes(attraction, demands, 3, uniforms, paths)
    assert [path[:size].tolist() for path, size in zip(paths, sizes, strict=True)] == [
        [0, 1, 2, 3, 0],
        [0, 1, 0, 3, 0, 2, 0],
    ]
    costs = colony_kernels.path_costs(distances, paths, sizes)
    assert costs.tolist() == [6.0, 12.0]
    pheromone = np.ones((4, 4))
    colony_kernels.mark_paths(pheromone, paths, sizes, costs, False)
    kept = 0.9
    expected = np.full((4, 4), kept)
    expected[0, 1] = kept + 1 / 6 + 1 / 12
    expected[1, 2] = expected[2, 3] = kept + 1 / 6
    expected[3, 0] = kept + 1 / 6 + 1 / 12
    expected[1, 0] = expected[0, 3] = expected[0, 2] = expected[2, 0] = kept + 1 / 12
    assert pheromone == pytest.approx(expected, abs=1e-15)


def test_a_tour_is_marked_both_ways():
    """Each edge gets 1/cost in each direction, after the evaporation; others only evaporate."""
    pheromone = np.ones((4, 4))
    path = np.array([[2, 0, 1, 3, 2]])
    colony_kernels.mark_paths(pheromone, path, np.array([5]), np.array([8.0]), True)
    expected = np.full((4, 4), 0.9)
    for a, b in pairwise(path[0]):
        expected[a, b] = expected[b, a] = 0.9 + 1 / 8
    assert np.array_equal(pheromone, expected)


def test_pheromone_and_deposit_have_their_bounds():
    """What evaporates stays above the floor, and a path of length zero leaves a finite mark."""
    pheromone = np.full((2, 2), 1e-10)
    colony_kernels.mark_paths(pheromone, np.array([[0, 1, 0]]), np.array([3]), np.array([0.0]), False)
    assert pheromone[0, 0] == pheromone[1, 1] == 1e-10
    assert np.isfinite(pheromone).all()


@pytest.mark.parametrize("seed", range(3))
def test_a_perfect_heuristic_leads_to_the_shortest_tour(seed):
    """With weight on the edges of an optimal tour of seven nodes alone, the colony finds its length."""
    distances, _ = random_problem(seed, 7)
    tours = [np.array([0, *rest]) for rest in permutations(range(1, 7))]
    best = min(tours, key=lambda tour: tour_length(distances, tour))
    weights = check_weights(weights_along(np.append(best, 0), 7), 7)
    assert shortest_tour(distances, weights, seed).cost == pytest.approx(tour_length(distances, best), abs=1e-12)


@compiling
@given(st.integers(1, 30), st.integers(0, 2**63 - 1), st.randoms(use_true_random=False))
def test_weights_along_a_tour_lead_every_ant_along_it(size, seed, random):
    """Whatever the tour: the result is that tour, from some start."""
    distances, _ = random_problem(0, size)
    tour = random.sample(range(size), size)
    with small_colony():
        found = shortest_tour(distances, check_weights(weights_along(np.array([*tour, tour[0]]), size), size), seed)
    start = tour.index(found.path[0])
    assert found.path.tolist() == [*tour[start:], *tour[:start], tour[start]]


def test_weights_along_routes_lead_every_ant_along_them():
    """Three routes, in any order of the vehicles."""
    distances, _ = random_problem(4, 9)
    demands = np.array([0, 2, 2, 2, 2, 2, 2, 2, 2])
    path = join_routes([[3, 1, 8], [2, 7], [6, 5, 4]])
    with small_colony():
        found = cheapest_routes(distances, check_weights(weights_along(path, 9), 9), demands, 6, 1)
    assert sorted(pairwise(found.path.tolist())) == sorted(pairwise(path.tolist()))


@pytest.mark.parametrize(
    ("path", "edges"),
    [
        ([2, 0, 1], [(2, 0), (0, 1), (1, 2)]),
        ([0, 2, 0, 1, 0], [(0, 2), (2, 0), (0, 1), (1, 0)]),
        ([0, 1, 2, 0], [(0, 1), (1, 2), (2, 0)]),
        ([0], []),
    ],
)
def test_leading_closes_tours_and_keeps_routes(path, edges):
    """The way back of a tour has a weight too; routes are at the depot again already."""
    instance = Instance("made", 0, {"distance_matrix": np.zeros((3, 3))})
    weights = leading(lambda given: np.array(path, dtype=np.int64))(instance)
    assert weights.shape == (3, 3)
    assert sorted(zip(*map(np.ndarray.tolist, np.nonzero(weights)), strict=True)) == sorted(edges)


def test_a_seed_decides_and_seeds_differ():
    """The same seed finds the same tour; ten seeds find several; the instance is not changed."""
    distances, weights = random_problem(9, 40)
    before = distances.tobytes(), weights.tobytes()
    found = [shortest_tour(distances, weights, seed) for seed in range(10)]
    again = shortest_tour(distances, weights, 3)
    assert bits(again.cost, again.path) == bits(found[3].cost, found[3].path)
    assert len({each.cost for each in found}) > 5
    assert (distances.tobytes(), weights.tobytes()) == before


def test_the_global_generators_are_left_alone():
    """A colony draws from its own generator."""
    distances, weights = random_problem(1, 6)
    state = np.random.get_state()[1].tobytes()  # noqa: NPY002 - what must not change
    shortest_tour(distances, weights, 1)
    assert np.random.get_state()[1].tobytes() == state  # noqa: NPY002


def test_marks_make_the_colony_learn(monkeypatch):
    """Over eight seeds, the mean tour of ants that leave no marks is longer by a tenth at least."""
    distances, weights = random_problem(3, 40, power=1)
    learned = [shortest_tour(distances, weights, seed).cost for seed in range(8)]
    monkeypatch.setattr(colony_kernels, "mark_paths", lambda *arguments: None)
    forgetful = [shortest_tour(distances, weights, seed).cost for seed in range(8)]
    assert 1.1 * np.mean(learned) < np.mean(forgetful)


def test_no_nodes_and_few_nodes():
    """Empty, one node, two nodes; and a depot alone."""
    assert bits(*PLAIN.plain_tour(np.zeros((1, 1)), np.ones((1, 1)), 0)) == bits(0.0, [0, 0])
    nothing = shortest_tour(np.zeros((0, 0)), np.zeros((0, 0)), 0)
    assert (nothing.cost, nothing.path.tolist()) == (0.0, [])
    one = shortest_tour(np.zeros((1, 1)), np.ones((1, 1)), 0)
    assert (one.cost, one.path.tolist()) == (0.0, [0, 0])
    pair = distance_matrix(np.array([[0.0, 0.0], [3.0, 4.0]]))
    assert shortest_tour(pair, np.ones((2, 2)), 0).cost == 10.0
    alone = cheapest_routes(np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1, np.int64), 5, 0)
    assert (alone.cost, alone.path.tolist()) == (0.0, [0])
    served = cheapest_routes(pair, np.ones((2, 2)), np.array([0, 5]), 5, 0)
    assert (served.cost, served.path.tolist()) == (10.0, [0, 1, 0])


def test_a_customer_may_fill_a_vehicle_or_need_nothing():
    """With a demand equal to the capacity a customer has a route of its own; one that needs nothing fits anywhere."""
    distances = distance_matrix(np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]))
    found = cheapest_routes(distances, np.ones((4, 4)), np.array([0, 5, 0, 5]), 5, 0)
    check_routes(found.path, np.array([0, 5, 0, 5]), 5)
    assert found.cost == 8.0


def test_routes_refuse_what_no_vehicle_can_do():
    """A demand above the capacity or below zero, and an instance without a depot; the depot's own is not read."""
    distances, ones = np.zeros((3, 3)), np.ones((3, 3))
    with pytest.raises(ValueError, match=r"^expected demands from 0 to the capacity 5, node 2 has 6$"):
        cheapest_routes(distances, ones, np.array([0, 5, 6]), 5, 0)
    with pytest.raises(ValueError, match=r"^expected demands from 0 to the capacity 5, node 1 has -1$"):
        cheapest_routes(distances, ones, np.array([0, -1, 6]), 5, 0)
    with pytest.raises(ValueError, match=r"^expected a depot as node 0, got no nodes$"):
        cheapest_routes(np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(0, np.int64), 5, 0)
    assert cheapest_routes(distances, ones, np.array([99, 1, 1]), 5, 0).cost == 0.0


def test_extreme_weights_overflow_nothing():
    """Floor and ceiling side by side, on a tour of length zero, end in a tour; errors would be raised as warnings."""
    weights = check_weights(np.tile([[1e300, -1e300]], (6, 3)), 6)
    assert shortest_tour(np.zeros((6, 6)), weights, 0).cost == 0.0
    assert cheapest_routes(np.zeros((6, 6)), weights, np.ones(6, np.int64), 2, 0).cost == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tour", "routes"])
def test_value_agrees_with_the_torch_version(kind, monkeypatch):
    """Mean cost over ten instances, one seed each and 50 iterations: the difference is within 4 of its standard errors.

    The two draw from different generators, so that only their distributions can agree. Differences are taken instance
    by instance, which leaves the ants' luck as their only spread; were the versions alike, this would fail by chance
    for one choice of seeds in 320 (Student's t, 9 degrees of freedom). On tours, a colony that leaves no marks is off
    by 40 standard errors, and one without evaporation by 5. On routes, marks matter less than luck; what the test
    sees there is the walk: with a cost of 1 for each step of an ant that is done, it would fail.
    """
    for module in (colony, PLAIN):
        monkeypatch.setattr(module, "NUM_ITERATIONS", 50)
    differences = []
    for number in range(10):
        distances, weights = random_problem(100 + number, 20, power=1)
        arguments = [distances, weights, number]
        if kind == "routes":
            arguments[2:2] = [np.random.default_rng(number).integers(1, 10, 20), 25]
        ours = {"tour": shortest_tour, "routes": cheapest_routes}[kind](*arguments)
        theirs = {"tour": PLAIN.torch_tour, "routes": PLAIN.torch_routes}[kind](*arguments)
        differences.append((ours.cost - theirs[0]) / ours.cost)
    error = np.std(differences, ddof=1) / np.sqrt(len(differences))
    assert abs(np.mean(differences)) <= 4 * error
    assert error < 0.03
