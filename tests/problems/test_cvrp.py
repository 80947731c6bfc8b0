"""The constructive CVRP: its law, the protocol of `solve`, each way to be infeasible, and the savings construction."""

from itertools import pairwise, permutations
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coevo.candidate import Candidate
from coevo.content import find_problem
from coevo.errors import ConfigError, ContentError, Infeasible
from coevo.evolution.renderers import unreadable
from coevo.interfaces import Instance
from coevo.problemkit.tours import distance_matrix

FOLDER = find_problem("cvrp")
SIZES = {"search": (64, 50), "val": (64, 50), "test20": (64, 20), "test50": (64, 50), "test100": (64, 100)}

# A depot and four customers on a line.
LINE = np.array([[0.0, 0.0], [-5, 0], [-4, 0], [4, 0], [5, 0]])


@pytest.fixture(scope="module")
def problem(bundled):
    """Its module."""
    return bundled("cvrp").problem


@pytest.fixture(scope="module")
def baselines(bundled):
    """The baseline heuristics as functions, by name."""
    return bundled("cvrp").baselines


def to_instance(points, demands, capacity):
    """An instance over given points; the first is the depot."""
    data = {"coordinates": points, "distance_matrix": distance_matrix(points), "demands": np.array(demands)}
    return Instance("made", 0, {**data, "capacity": capacity})


def scripted(*nodes):
    """A heuristic that returns the given values, one per call."""
    values = iter(nodes)
    return lambda current, depot, unvisited, matrix, demands, rest: next(values)


def plain_length(instance, nodes):
    """Total length, counted without any code of the problem; None if a constraint is broken."""
    matrix, demands = instance.data["distance_matrix"].tolist(), instance.data["demands"].tolist()
    if not nodes or nodes[0] or nodes[-1] or sorted(node for node in nodes if node) != list(range(1, len(demands))):
        return None
    load = 0
    for here, there in pairwise(nodes):
        load = load + demands[there] if there else 0
        if load > instance.data["capacity"] or here == there == 0:
            return None
    return sum(matrix[here][there] for here, there in pairwise(nodes))


@pytest.mark.parametrize("split", SIZES)
def test_splits_follow_their_law(problem, split):
    """Sizes, the depot in the middle, customers in the unit square, demands 1 to 9, capacity 50, exact distances."""
    instances = problem.instances(split)
    count, customers = SIZES[split]
    assert len(instances) == count
    assert set(FOLDER.spec.splits) == set(SIZES)
    for instance in instances:
        points, demands = instance.data["coordinates"], instance.data["demands"]
        assert points.shape == (customers + 1, 2)
        assert points[0].tolist() == [0.5, 0.5]
        assert ((points >= 0) & (points < 1)).all()
        assert demands.dtype == np.int64
        assert demands[0] == 0
        assert set(demands[1:]) <= set(range(1, 10))
        assert instance.data["capacity"] == 50
    assert np.array_equal(instances[-1].data["distance_matrix"], distance_matrix(points))


def test_demands_are_uniform(problem):
    """Over the 3,200 customers of the search split each demand has about a ninth; the mean is near 5."""
    demands = np.concatenate([instance.data["demands"][1:] for instance in problem.instances("search")])
    assert np.abs(np.bincount(demands, minlength=10)[1:] / demands.size - 1 / 9).max() < 0.02


def test_no_point_is_shared_with_another_split_or_the_reference_stream(problem):
    """Nothing of a test instance is seen by the search; and the stream is not the one with seed 1234."""
    every = [instance for split in SIZES for instance in problem.instances(split)]
    points = [tuple(point) for instance in every for point in instance.data["coordinates"][1:]]
    assert len(set(points)) == len(points)
    assert not {x for x, _ in points} & set(np.random.RandomState(1234).random_sample(100_000))


def test_unknown_split_names_the_known_ones(problem):
    """The message lists what could have been meant."""
    for function in (problem.instances, problem.reference):
        with pytest.raises(ConfigError, match=r"search, val, test20, test50, test100.*got 'train'"):
            function("train")


def test_nearest_neighbour_agrees_with_a_plain_loop(problem, baselines):
    """The same routes, built and measured without any code of the problem."""
    for instance in problem.instances("search"):
        matrix, demands = instance.data["distance_matrix"].tolist(), instance.data["demands"].tolist()
        nodes, left, rest = [0], set(range(1, len(demands))), 50
        while left:
            fitting = [node for node in left if demands[node] <= rest]
            node = min(fitting, key=matrix[nodes[-1]].__getitem__) if fitting else 0
            nodes.append(node)
            left.discard(node)
            rest = rest - demands[node] if node else 50
        solution = problem.solve(baselines["nearest_neighbour"], instance)
        assert solution.tolist() == [*nodes, 0]
        assert problem.objective(instance, solution) == pytest.approx(plain_length(instance, [*nodes, 0]), abs=1e-12)


def test_baselines_are_readable_by_the_embedded_model(problem, baselines):
    """Each can be shown as a parent, and the one that weighs demands is better on average."""
    means = {}
    for name, source in FOLDER.baselines().items():
        assert unreadable(FOLDER, Candidate(source)) == ""
        solved = [(i, problem.solve(baselines[name], i)) for i in problem.instances("search")]
        means[name] = np.mean([problem.objective(*pair) for pair in solved])
    assert means["far_and_heavy_first"] < means["nearest_neighbour"]


def test_solve_calls_the_heuristic_as_described(problem):
    """Node, depot, customers that fit (ascending, int64), matrix, demands, room; nobody fits: home without a call."""
    calls = []

    def last_first(current, depot, unvisited, matrix, demands, rest):
        calls.append((current, depot, unvisited.tolist(), rest))
        assert (unvisited.dtype, matrix.shape, demands.tolist()) == (np.int64, (5, 5), [0, 3, 2, 4, 1])
        return unvisited[-1]

    solution = problem.solve(last_first, to_instance(LINE, [0, 3, 2, 4, 1], 5))
    assert solution.tolist() == [0, 4, 3, 0, 2, 1, 0]
    assert calls == [(0, 0, [1, 2, 3, 4], 5), (4, 0, [1, 2, 3], 4), (0, 0, [1, 2], 5)]


def test_the_depot_ends_a_route_early(problem):
    """After at least one customer; the next vehicle is empty again. By hand: 10 + 8 + 10 = 28."""
    instance = to_instance(LINE, [0, 1, 1, 1, 1], 9)
    solution = problem.solve(scripted(1, 0, 2, 0, 3), instance)
    assert solution.tolist() == [0, 1, 0, 2, 0, 3, 4, 0]
    assert problem.objective(instance, solution) == 10 + 8 + 10


def test_the_last_customer_gets_a_route_of_its_own_if_it_does_not_fit(problem):
    """Without a call, the vehicle goes home first."""
    assert problem.solve(scripted(1, 2, 3), to_instance(LINE, [0, 1, 1, 1, 7], 9)).tolist() == [0, 1, 2, 3, 0, 4, 0]


@pytest.mark.parametrize(
    ("demands", "solution"), [([0], [0]), ([0, 0], [0, 1, 0]), ([0, 5], [0, 1, 0]), ([0, 3], [0, 1, 0])]
)
def test_tiny_instances_need_no_call(problem, demands, solution):
    """With at most one customer there is nothing to choose."""
    instance = to_instance(LINE[: len(demands)], demands, 5)
    assert problem.solve(scripted(), instance).tolist() == solution
    assert problem.objective(instance, np.array(solution)) == (10 if len(demands) > 1 else 0)


def test_a_customer_that_no_vehicle_can_serve_is_told(problem):
    """Construction ends instead of going home for ever; the objective names the customer, wherever it comes."""
    for demands in ([0, 6, 1, 1, 1], [0, 1, 1, 1, 6], [0, 6, 6, 6, 6]):
        instance = to_instance(LINE, demands, 5)
        solution = problem.solve(lambda current, depot, unvisited, *rest: unvisited[0], instance)
        with pytest.raises(Infeasible, match=f"customer {demands.index(6)} is missing"):
            problem.objective(instance, solution)


@given(st.data())
def test_any_choice_of_what_is_offered_gives_routes(problem, data):
    """Whatever a heuristic picks, also going home, the result is feasible and costs what a recount says."""
    customers = data.draw(st.integers(0, 7))
    coordinate = st.sampled_from([0.0, 0.25, 0.5, 1.0])
    points = np.array([[data.draw(coordinate), data.draw(coordinate)] for _ in range(customers + 1)])
    instance = to_instance(points, [0, *(data.draw(st.integers(0, 6)) for _ in range(customers))], 6)

    def anything(current, depot, unvisited, matrix, demands, rest):
        assert unvisited.size
        assert (demands[unvisited] <= rest).all()
        return data.draw(st.sampled_from([*unvisited.tolist(), *([depot] if current != depot else [])]))

    solution = problem.solve(anything, instance)
    assert problem.objective(instance, solution) == pytest.approx(plain_length(instance, solution.tolist()), abs=1e-12)


@given(st.lists(st.integers(0, 4), max_size=9))
def test_objective_agrees_with_an_independent_recount(problem, nodes):
    """Any sequence of nodes is priced alike or refused alike."""
    instance = to_instance(LINE, [0, 1, 2, 3, 0], 3)
    expected = plain_length(instance, nodes)
    solution = np.array(nodes, dtype=np.int64)
    if expected is None:
        with pytest.raises(Infeasible, match=r"\w"):
            problem.objective(instance, solution)
    else:
        assert problem.objective(instance, solution) == expected


@pytest.mark.parametrize("value", [2, np.int32(2), np.uint8(2), np.array(2), np.array([2]), np.array([[2]])])
def test_solve_takes_any_integer_for_a_node(problem, value):
    """Python and NumPy integers, and integer arrays of size 1."""
    assert problem.solve(scripted(value, 1, 3), to_instance(LINE, [0] * 5, 1)).tolist() == [0, 2, 1, 3, 4, 0]


@pytest.mark.parametrize("value", [2.0, np.float64(2), np.array(2.0), True, None, "2", np.array([1, 2]), 2j, [2]])
def test_solve_refuses_what_is_no_integer(problem, value):
    """Whole floats, booleans, lists and arrays of several nodes are no node id."""
    with pytest.raises(TypeError, match="expected select_next_node to return an integer node id, got "):
        problem.solve(scripted(value), to_instance(LINE, [0] * 5, 1))


@pytest.mark.parametrize(
    ("choices", "solution", "message"),
    [
        ((-1,), [0, -1], "node -1 at position 1 is not one of 0 to 4"),
        ((5,), [0, 5], "node 5 at position 1 is not one of 0 to 4"),
        ((10**30,), None, "too large"),
        ((0,), [0, 0], "route at positions 0 and 1 leaves the depot and serves nobody"),
        ((1, 0, 0), [0, 1, 0, 0], "route at positions 2 and 3 leaves the depot and serves nobody"),
        ((1, 1), [0, 1, 1], "customer 1 is served twice, at positions 1 and 2"),
        ((1, 3), [0, 1, 3], "route 1 carries 6, more than the capacity 5"),
    ],
)
def test_an_impossible_choice_ends_the_construction_and_is_explained(problem, choices, solution, message):
    """`solve` stops at the bad node and keeps it; `objective` says which constraint it breaks."""
    instance = to_instance(LINE, [0, 3, 3, 3, 2], 5)
    if solution is None:
        with pytest.raises(OverflowError, match=message):
            problem.solve(scripted(*choices), instance)
        return
    assert problem.solve(scripted(*choices), instance).tolist() == solution
    with pytest.raises(Infeasible, match=message):
        problem.objective(instance, np.array(solution))


@pytest.mark.parametrize("name", ["unvisited", "matrix", "demands"])
@pytest.mark.parametrize("capacity", [20, 3])
def test_the_heuristic_cannot_write_to_its_inputs(problem, name, capacity):
    """The three arrays are read-only, whether all customers fit or some, and the instance is unchanged."""
    instance = to_instance(LINE.copy(), [0, 1, 2, 3, 4], capacity)

    def write(current, depot, unvisited, matrix, demands, rest):
        {"unvisited": unvisited, "matrix": matrix, "demands": demands}[name][0] = 7

    with pytest.raises(ValueError, match="read-only"):
        problem.solve(write, instance)
    assert np.array_equal(instance.data["distance_matrix"], distance_matrix(LINE))


def shortest(instance):
    """Length of the shortest routes: every order of the customers, every way to cut it."""
    customers = range(1, len(instance.data["demands"]))
    best = np.inf
    for order in permutations(customers):
        for cuts in range(2 ** (len(order) - 1)):
            nodes = [0]
            for place, node in enumerate(order):
                nodes += [node, 0] if cuts >> place & 1 else [node]
            length = plain_length(instance, nodes if nodes[-1] == 0 else [*nodes, 0])
            best = best if length is None else min(best, length)
    return best


def test_savings_by_hand(problem):
    """On the line it pairs the customers of each end, 10 + 10, which is the optimum."""
    instance = to_instance(LINE, [0, 2, 2, 2, 2], 4)
    solution = problem.classics()["savings"](instance)
    assert problem.objective(instance, solution) == 20 == shortest(instance)


@settings(deadline=None)
@given(st.integers(0, 12), st.integers(0, 2**32 - 1))
def test_savings_are_feasible_and_never_longer_than_a_way_to_each_customer(problem, customers, seed):
    """For demands from zero to the capacity and points that coincide."""
    rng = np.random.default_rng(seed)
    instance = to_instance(rng.integers(0, 4, (customers + 1, 2)) / 4, [0, *rng.integers(0, 8, customers)], 7)
    length = problem.objective(instance, problem.classics()["savings"](instance))
    assert length <= 2 * instance.data["distance_matrix"][0].sum() + 1e-12


def test_savings_and_references_are_in_order(problem, baselines):
    """Best known ≤ savings < nearest neighbour on average on every split, and the best known on every instance."""
    for split in SIZES:
        instances, best = problem.instances(split), problem.reference(split)
        savings = np.array([problem.objective(i, problem.classics()["savings"](i)) for i in instances])
        nearest = [problem.objective(i, problem.solve(baselines["nearest_neighbour"], i)) for i in instances]
        assert best.dtype == np.float64
        assert (best <= savings + 1e-9).all()
        assert best.mean() < savings.mean() < 1.1 * best.mean() < np.mean(nearest)


@pytest.mark.parametrize("size", [0, 1, 4])
def test_the_solver_finds_the_shortest_routes_of_few_customers(problem, size):
    """PyVRP's answer is feasible, and as short as the shortest of all."""
    rng = np.random.default_rng(size)
    instance = to_instance(rng.random((size + 1, 2)), [0, *rng.integers(1, 4, size)], 5)
    assert set(problem.solvers()) == {solver.name for solver in FOLDER.spec.solvers}
    length = problem.objective(instance, problem.solvers()["pyvrp"](instance))
    assert length == pytest.approx(shortest(instance) if size else 0)


@pytest.mark.slow
def test_the_reference_is_what_the_solver_finds(problem):
    """On two instances of 20 customers, the stored length is PyVRP's."""
    for best, instance in zip(problem.reference("test20")[:2], problem.instances("test20"), strict=False):
        assert problem.objective(instance, problem.solvers()["pyvrp"](instance)) == pytest.approx(best, abs=1e-9)


def test_drawing_shows_every_customer_and_route(problem, baselines):
    """A dot for each customer, a closed line for each route, a square at the depot, and the numbers in the title."""
    instance = problem.instances("search")[0]
    solution = problem.solve(baselines["nearest_neighbour"], instance)
    root = ElementTree.fromstring(problem.draw(instance, solution))
    tags = [element.tag.rpartition("}")[2] for element in root]
    num_routes = np.count_nonzero(solution == 0) - 1
    assert (tags.count("circle"), tags.count("polygon"), tags.count("rect")) == (50, num_routes, 1)
    length = problem.objective(instance, solution)
    assert root[0].text == f"search-0: 50 customers, {num_routes} routes, length {length:.4f}"
    with pytest.raises(Infeasible):
        problem.draw(instance, solution[:-1])


def test_without_coordinates_there_is_no_drawing(problem):
    """The message names the instance."""
    data = {key: value for key, value in to_instance(LINE, [0] * 5, 1).data.items() if key != "coordinates"}
    with pytest.raises(ContentError, match="expected coordinates to draw bare"):
        problem.draw(Instance("bare", 0, data), np.array([0, 1, 2, 3, 4, 0]))
