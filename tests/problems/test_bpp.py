"""Bin packing by a matrix: published instances and anchors, what `solve` and `objective` refuse, files and optima."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from coevo.errors import ConfigError, ExtraMissingError, Infeasible, InstanceFileError
from coevo.interfaces import Instance
from coevo.problemkit.packing import check_packing, count_bins, sum_bound

SPLITS = ("search", "val", "test120", "test500", "test1000")

SMALL = Instance("small", 0, {"sizes": np.array([6, 4, 5, 5]), "capacity": 10})


@pytest.fixture(scope="module")
def bpp(bundled):
    """The parts of the problem."""
    return bundled("bpp")


@pytest.mark.parametrize(
    ("split", "seed", "skipped", "shape"),
    [
        ("search", 5, [], (5, 500)),
        ("val", 3, [(64, 120)], (64, 500)),
        ("test500", 4, [], (64, 500)),
        ("test1000", 4, [(64, 500)], (64, 1000)),
        ("test120", 4, [(64, 500), (64, 1000)], (64, 120)),
    ],
)
def test_sizes_are_the_published_stream(bpp, split, seed, skipped, shape):
    """One legacy stream per kind of split, seeded by the length of its name there: train, val, test."""
    stream = np.random.RandomState(seed)
    for each in skipped:
        stream.randint(20, 101, size=each)
    expected = stream.randint(20, 101, size=shape)
    assert np.array_equal([instance.data["sizes"] for instance in bpp.instances[split]], expected)
    assert {instance.data["capacity"] for instance in bpp.instances[split]} == {150}


@pytest.mark.parametrize(
    ("split", "bound", "decreasing"),
    [("search", "199.600", "202.400"), ("test500", "200.656", "203.344"), ("test1000", "400.406", "405.359")],
)
def test_anchors(bpp, split, bound, decreasing):
    """Bound by size and first fit decreasing, to three decimals as measured with the published evaluator's data."""
    algorithm = bpp.problem.classics()["first fit decreasing"]
    instances = bpp.instances[split]
    assert f"{np.mean([sum_bound(each.data['sizes'], 150) for each in instances]):.3f}" == bound
    assert f"{np.mean([bpp.problem.objective(each, algorithm(each)) for each in instances]):.3f}" == decreasing


def test_unknown_split_names_the_known_ones(bpp):
    """The message lists what could have been meant."""
    for function in (bpp.problem.instances, bpp.problem.reference):
        with pytest.raises(ConfigError, match=r"search, val, test500, test1000, test120.*got 'train'"):
            function("train")


@pytest.mark.parametrize("split", SPLITS)
def test_reference_is_between_the_bound_by_size_and_best_fit_decreasing(bpp, split):
    """One whole number of bins per instance."""
    reference, instances = bpp.problem.reference(split), bpp.instances[split]
    assert reference.dtype == np.float64
    assert reference.shape == (len(instances),)
    decreasing = bpp.problem.classics()["best fit decreasing"]
    for bins, instance in zip(reference, instances, strict=True):
        assert sum_bound(instance.data["sizes"], 150) <= bins <= bpp.problem.objective(instance, decreasing(instance))
        assert bins == int(bins)


def test_solve_asks_once_and_returns_the_matrix(bpp):
    """Called with the sizes and the capacity; integers become float64; nothing is clipped yet."""
    calls = []

    def heuristic(demands, capacity):
        calls.append((demands.tolist(), demands.dtype, capacity, type(capacity)))
        return [[1, 2, 3, -4]] * 4

    matrix = bpp.problem.solve(heuristic, SMALL)
    assert calls == [([6, 4, 5, 5], np.int64, 10, int)]
    assert matrix.dtype == np.float64
    assert matrix.tolist() == [[1.0, 2.0, 3.0, -4.0]] * 4


def test_four_items_by_hand(bpp):
    """6 with 4 and 5 with 5 need two bins, and a matrix that wants 5 with 4 cannot avoid a third."""
    good = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0.0]])
    bad = np.array([[0, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0, 1, 0, 0.0]])
    assert bpp.problem.objective(SMALL, good) == 2
    first = Instance("three", 0, {"sizes": np.array([7, 4, 5, 4]), "capacity": 10})
    assert bpp.problem.objective(first, bad) == 3


@pytest.mark.parametrize(
    "value",
    [
        None,
        "matrix",
        object(),
        np.ones((4, 4), dtype=bool),
        np.ones((4, 4)) * 1j,
        [[None] * 4] * 4,
        np.full((4, 4), "1"),
    ],
)
def test_solve_refuses_what_is_no_matrix_of_real_numbers(bpp, value):
    """Nothing, texts, booleans, complex numbers and objects."""
    with pytest.raises(TypeError, match="expected heuristics to return a matrix of real numbers, got "):
        bpp.problem.solve(lambda demands, capacity: value, SMALL)


@pytest.mark.parametrize("shape", [(), (4,), (4, 3), (1, 4), (4, 4, 1), (0, 0), (5, 5)])
def test_another_shape_is_refused_everywhere(bpp, shape):
    """By `solve`, so that no heuristic can return a packing; by `objective` unless it is one."""
    with pytest.raises(Infeasible, match=r"expected a matrix of shape \(4, 4\), got \("):
        bpp.problem.solve(lambda demands, capacity: np.ones(shape), SMALL)
    with pytest.raises(Infeasible, match=r"expected (a matrix of shape|bins as integers)"):
        bpp.problem.objective(SMALL, np.ones(shape))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_matrix_that_is_not_finite_is_refused(bpp, value):
    """A single entry is enough, negative infinity included."""
    matrix = np.ones((4, 4))
    matrix[1, 2] = value
    with pytest.raises(Infeasible, match="finite real numbers"):
        bpp.problem.objective(SMALL, matrix)


@pytest.mark.parametrize("value", [0.0, -1.0, -0.0])
def test_a_matrix_without_a_positive_entry_is_refused(bpp, value):
    """It would prefer nothing to anything."""
    with pytest.raises(Infeasible, match="expected the largest entry of the matrix above 0"):
        bpp.problem.objective(SMALL, np.full((4, 4), value))


@pytest.mark.parametrize("value", [1e-300, 1e300, 5e-324])
def test_extreme_but_finite_matrices_have_a_value(bpp, value):
    """Clipping comes before the division, so nothing overflows."""
    matrix = np.full((4, 4), -1e308)
    matrix[0, 1] = value
    assert bpp.problem.objective(SMALL, matrix) in (2, 3)


def test_boolean_and_complex_matrices_are_refused_by_the_objective(bpp):
    """Whatever reaches it past `solve`."""
    for dtype in (bool, complex):
        with pytest.raises(Infeasible, match="finite real numbers"):
            bpp.problem.objective(SMALL, np.ones((4, 4), dtype=dtype))


def test_a_packing_is_priced_and_checked(bpp):
    """One bin per item, as solvers return it."""
    assert bpp.problem.objective(SMALL, np.array([3, 3, 0, 0])) == 2
    with pytest.raises(Infeasible, match="bin 0 holds 11"):
        bpp.problem.objective(SMALL, np.array([0, 1, 0, 1]))


def test_the_objective_follows_the_seed_of_the_instance(bpp):
    """Over six seeds the best of 200 packings of an instance is not always the same; over one, it is."""
    instance = bpp.instances["search"][2]
    matrix = bpp.problem.solve(bpp.baselines["large_first"], instance)
    values = [bpp.problem.objective(replace(instance, seed=seed), matrix) for seed in range(6)]
    assert len(set(values)) > 1
    assert values[:3] == [bpp.problem.objective(replace(instance, seed=seed), matrix) for seed in range(3)]


def test_baselines_are_no_worse_than_a_matrix_of_noise(bpp):
    """On the search split, each needs fewer bins than random preferences, and none fewer than the reference."""
    noise = np.random.default_rng(0).random((500, 500))
    for instance, fewest in zip(bpp.instances["search"], bpp.problem.reference("search"), strict=True):
        random = bpp.problem.objective(instance, noise)
        for heuristic in bpp.baselines.values():
            assert fewest <= bpp.problem.objective(instance, bpp.problem.solve(heuristic, instance)) < random


def test_the_heuristic_cannot_write_to_the_sizes(bpp):
    """They are read-only, and as they were after an attempt."""
    demands = np.array([6, 4, 5, 5])

    def write(demands, capacity):
        demands[0] = 1

    with pytest.raises(ValueError, match="read-only"):
        bpp.problem.solve(write, Instance("made", 0, {"sizes": demands, "capacity": 10}))
    assert demands.tolist() == [6, 4, 5, 5]


def test_drawing_shows_the_packing_of_a_matrix_and_of_a_solver(bpp):
    """A box per item and a frame per bin; the title counts them."""
    instance = bpp.instances["test120"][0]
    matrix = bpp.problem.solve(bpp.baselines["large_first"], instance)
    for solution in (matrix, bpp.problem.classics()["first fit decreasing"](instance)):
        bins = int(bpp.problem.objective(instance, solution))
        root = ElementTree.fromstring(bpp.problem.draw(instance, solution))
        assert [child.tag.rpartition("}")[2] for child in root].count("rect") == 120 + bins
        assert root[0].text == f"test120-0: 120 items in {bins} bins of 150"
    with pytest.raises(Infeasible):
        bpp.problem.draw(instance, matrix[:-1])


def test_files_are_read_with_what_they_state(bpp, shared_data):
    """Twenty instances of OR-Library and the best known bins of each, two of which its file has one too high."""
    file = shared_data / "bpp" / "orlib" / "binpack1.txt"
    instances, stated = bpp.problem.read(file), bpp.problem.read_reference(file)
    assert [each.name for each in instances] == [f"u120_{place:02}" for place in range(20)]
    assert [each.seed for each in instances] == list(range(20))
    assert stated[0] == 48
    assert (stated[8], stated[19]) == (51, 50)
    packing = bpp.problem.packing_of(instances[0], bpp.problem.solve(bpp.baselines["fillable_gaps"], instances[0]))
    assert count_bins(check_packing(packing, instances[0].data["sizes"], 150)) >= 48


def test_arrays_are_read_with_a_capacity(bpp, tmp_path):
    """The form of the published data, which states no best known value."""
    np.savez(tmp_path / "train.npz", demands=np.array([[6, 4], [5, 10]], dtype=np.int32))
    instances = bpp.problem.read(tmp_path / "train.npz", capacity=10)
    assert [each.data["sizes"].tolist() for each in instances] == [[6, 4], [5, 10]]
    assert bpp.problem.read_reference(tmp_path / "train.npz", capacity=10) == [None, None]
    with pytest.raises(InstanceFileError, match="option capacity"):
        bpp.problem.read(tmp_path / "train.npz")


def test_the_solver_reaches_the_reference(bpp):
    """Proven packings of some small instances have as many bins as stored."""
    solver = bpp.problem.solvers()["ortools"]
    for instance, fewest in list(zip(bpp.instances["test120"], bpp.problem.reference("test120"), strict=True))[:6]:
        try:
            packing = solver(instance)
        except ExtraMissingError:
            pytest.skip("OR-Tools is not installed")
        assert bpp.problem.objective(instance, packing) == fewest
