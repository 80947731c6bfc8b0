"""The constructive TSP: published arrays and anchors, the protocol of `solve`, and each way to be infeasible."""

import hashlib
import io
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.errors import ConfigError, Infeasible
from coevo.interfaces import Instance
from coevo.problemkit.tours import distance_matrix, tour_length

RECTANGLE = np.array([[0.0, 0.0], [0.0, 3.0], [4.0, 3.0], [4.0, 0.0]])


def to_instance(points):
    """An instance over given points."""
    return Instance("made", 0, {"coordinates": points, "distance_matrix": distance_matrix(points)})


def scripted(*nodes):
    """A heuristic that returns the given values, one per call."""
    values = iter(nodes)
    return lambda current, destination, unvisited, matrix: next(values)


@pytest.mark.parametrize(
    ("split", "digest"),
    [
        ("search", "3264665d4e6916e2"),
        ("test20", "8806cdd2737bca46"),
        ("test50", "7154aa3e5b8b2e7b"),
        ("test100", "af47bec781fccd35"),
    ],
)
def test_coordinates_are_the_published_arrays_bit_for_bit(loaded, split, digest):
    """Saved as .npy, the split has the SHA-256 of the published file (its first 16 digits)."""
    file = io.BytesIO()
    np.save(file, np.stack([instance.data["coordinates"] for instance in loaded.instances[split]]))
    assert hashlib.sha256(file.getvalue()).hexdigest()[:16] == digest


@pytest.mark.parametrize(
    ("split", "shape"),
    [("search", (64, 50)), ("val", (64, 50)), ("test20", (1000, 20)), ("test50", (1000, 50)), ("test100", (1000, 100))],
)
def test_splits_have_their_sizes_and_exact_distances(loaded, split, shape):
    """Number of instances and nodes, and distances recomputed pair by pair on one instance."""
    instances = loaded.instances[split]
    assert (len(instances), len(instances[0].data["coordinates"])) == shape
    points, matrix = instances[-1].data["coordinates"], instances[-1].data["distance_matrix"]
    expected = [[np.hypot(*(a - b)) for b in points] for a in points]
    assert np.allclose(matrix, expected, rtol=0, atol=1e-15)


def test_no_point_is_shared_between_splits(loaded):
    """Nothing of a test instance is seen by the search or by the choice of the best candidate."""
    sets = [{tuple(p) for i in each for p in i.data["coordinates"]} for each in loaded.instances.values()]
    assert sum(map(len, sets)) == len(set().union(*sets))


def test_unknown_split_names_the_known_ones(loaded):
    """The message lists what could have been meant."""
    with pytest.raises(ConfigError, match=r"search, val, test20, test50, test100.*got 'train'"):
        loaded.problem.instances("train")
    with pytest.raises(ConfigError, match="got 'train'"):
        loaded.problem.reference("train")


@pytest.mark.parametrize(("split", "mean"), [("search", "7.00437"), ("test20", "4.479725"), ("test50", "6.959266")])
def test_nearest_neighbour_has_its_published_mean(loaded, objectives, split, mean):
    """The anchor to its last printed digit."""
    decimals = len(mean.partition(".")[2])
    assert f"{np.mean(objectives(loaded.baselines['nearest_neighbour'], split)):.{decimals}f}" == mean


def test_nearest_neighbour_agrees_with_a_plain_loop(loaded, objectives):
    """The same tours, built and measured without any code of the problem."""
    expected = []
    for instance in loaded.instances["search"]:
        matrix = instance.data["distance_matrix"].tolist()
        tour, left = [0], set(range(1, len(matrix)))
        while left:
            tour.append(min(left, key=matrix[tour[-1]].__getitem__))
            left.remove(tour[-1])
        expected.append(sum(matrix[a][b] for a, b in pairwise([*tour, 0])))
    assert objectives(loaded.baselines["nearest_neighbour"], "search") == pytest.approx(expected, abs=1e-12)


def test_four_nodes_by_hand(loaded):
    """On the rectangle 3 × 4, nearest neighbour walks the sides (14); choosing the diagonals costs 4 more."""
    instance = to_instance(RECTANGLE)
    nearest = loaded.problem.solve(loaded.baselines["nearest_neighbour"], instance)
    assert nearest.tolist() == [0, 1, 2, 3]
    assert loaded.problem.objective(instance, nearest) == 14
    crossed = loaded.problem.solve(scripted(2, 3), instance)
    assert crossed.tolist() == [0, 2, 3, 1]
    assert loaded.problem.objective(instance, crossed) == 5 + 3 + 5 + 3


def test_solve_calls_the_heuristic_as_described(loaded):
    """Current node, destination 0, unvisited nodes ascending (int64), matrix; the last node without a call."""
    calls = []

    def last_first(current, destination, unvisited, matrix):
        calls.append((current, destination, unvisited.tolist(), unvisited.dtype, matrix.shape))
        return unvisited[-1]

    tour = loaded.problem.solve(last_first, to_instance(np.random.default_rng(0).random((5, 2))))
    assert tour.tolist() == [0, 4, 3, 2, 1]
    unvisited = [[1, 2, 3, 4], [1, 2, 3], [1, 2]]
    assert calls == [(c, 0, u, np.int64, (5, 5)) for c, u in zip([0, 4, 3], unvisited, strict=True)]


@pytest.mark.parametrize("size", [1, 2])
def test_tiny_instances_need_no_call(loaded, size):
    """With at most one node to visit there is nothing to choose."""
    assert loaded.problem.solve(scripted(), to_instance(RECTANGLE[:size])).tolist() == list(range(size))


@given(st.integers(1, 9), st.randoms(use_true_random=False))
def test_any_choice_among_the_unvisited_gives_a_tour(loaded, size, random):
    """Whatever a heuristic picks of what it is offered, the result is feasible and starts at node 0."""
    instance = to_instance(np.array([[random.random(), random.random()] for _ in range(size)]))
    tour = loaded.problem.solve(lambda current, destination, unvisited, matrix: random.choice(unvisited), instance)
    assert tour[0] == 0
    assert loaded.problem.objective(instance, tour) >= 0


@pytest.mark.parametrize("value", [2, np.int32(2), np.uint8(2), np.array(2), np.array([2]), np.array([[2]])])
def test_solve_takes_any_integer_for_a_node(loaded, value):
    """Python and NumPy integers, and integer arrays of size 1."""
    assert loaded.problem.solve(scripted(value, 1), to_instance(RECTANGLE)).tolist() == [0, 2, 1, 3]


@pytest.mark.parametrize("value", [2.0, np.float64(2), np.array(2.0), True, np.True_, None, "2", np.array([1, 2])])
def test_solve_refuses_what_is_no_integer(loaded, value):
    """Whole floats, booleans and arrays of several nodes are no node id, as in the published evaluator."""
    with pytest.raises(TypeError, match="expected select_next_node to return an integer node id, got "):
        loaded.problem.solve(scripted(value, 1), to_instance(RECTANGLE))


@pytest.mark.parametrize(
    ("choices", "tour", "message"),
    [
        ((-1,), [0, -1], "node -1 at position 1 is not one of 0 to 3"),
        ((2, 4), [0, 2, 4], "node 4 at position 2 is not one of 0 to 3"),
        ((0,), [0, 0], "node 0 is visited twice, at positions 0 and 1"),
        ((3, 3), [0, 3, 3], "node 3 is visited twice, at positions 1 and 2"),
    ],
)
def test_an_impossible_choice_ends_the_tour_and_is_explained(loaded, choices, tour, message):
    """`solve` stops at the bad node and keeps it; `objective` says which constraint it breaks."""
    instance = to_instance(RECTANGLE)
    solution = loaded.problem.solve(scripted(*choices), instance)
    assert solution.tolist() == tour
    with pytest.raises(Infeasible, match=message):
        loaded.problem.objective(instance, solution)


def test_the_heuristic_cannot_write_to_its_inputs(loaded):
    """Both arrays are read-only, and the instance is unchanged after an attempt."""
    instance = to_instance(RECTANGLE.copy())

    def write(name):
        def heuristic(current, destination, unvisited, matrix):
            {"unvisited": unvisited, "matrix": matrix}[name][0] = 7

        return heuristic

    for name in ("unvisited", "matrix"):
        with pytest.raises(ValueError, match="read-only"):
            loaded.problem.solve(write(name), instance)
    assert np.array_equal(instance.data["distance_matrix"], distance_matrix(RECTANGLE))


def test_drawing_shows_every_node_and_the_start(loaded):
    """One dot per node, one closed line, one square at the first node of the tour, and the length in the title."""
    instance = loaded.instances["search"][0]
    solution = loaded.problem.solve(loaded.baselines["nearest_neighbour"], instance)
    root = ElementTree.fromstring(loaded.problem.draw(instance, solution))
    tags = [child.tag.rpartition("}")[2] for child in root]
    assert (tags.count("circle"), tags.count("polygon"), tags.count("rect")) == (50, 1, 1)
    assert root[0].text == f"search-0: 50 nodes, length {loaded.problem.objective(instance, solution):.4f}"
    with pytest.raises(Infeasible):
        loaded.problem.draw(instance, solution[:-1])


@pytest.mark.parametrize(
    ("name", "optimum"),
    [("eil51", 426), ("berlin52", 7542), ("st70", 675), ("pr76", 108159), ("kroA100", 21282), ("a280", 2579)],
)
def test_tsplib_optimal_tours_have_their_published_length(loaded, name, optimum, shared_data):
    """With TSPLIB's rounded distances, the published optimal tours cost the published optima."""
    rows = [line.split() for line in (shared_data / "tsp" / f"{name}.tsp").read_text().splitlines()]
    start = rows.index(["NODE_COORD_SECTION"]) + 1
    points = np.array([[float(x), float(y)] for _, x, y in (row for row in rows[start:] if len(row) == 3)])
    words = (shared_data / "tsp" / "tours" / f"{name}.opt.tour").read_text().split()
    section = words[words.index("TOUR_SECTION") + 1 :]
    tour = np.array([int(word) - 1 for word in section[: section.index("-1")]])
    rounded = np.floor(distance_matrix(points) + 0.5)
    assert loaded.problem.objective(Instance(name, 0, {"distance_matrix": rounded}), tour) == optimum
    assert tour_length(rounded, tour) == optimum
