"""TSPLIB and NumPy files as instances of the problem tsp, and its reference solvers."""

import shutil

import numpy as np
import pytest

from coevo.errors import ContentError, InstanceFileError
from coevo.interfaces import Instance
from coevo.problemkit.tours import distance_matrix

EXPLICIT = """\
NAME : bare
TYPE : TSP
DIMENSION : 3
EDGE_WEIGHT_TYPE : EXPLICIT
EDGE_WEIGHT_FORMAT : UPPER_ROW
EDGE_WEIGHT_SECTION
3 4 5
EOF
"""

TOUR = "TYPE : TOUR\nTOUR_SECTION\n1 3 2 -1\nEOF\n"


@pytest.fixture
def write(tmp_path):
    """Writes a file and returns its path."""

    def to_file(name, text):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return to_file


@pytest.mark.parametrize(
    ("name", "optimum"),
    [("eil51", 426), ("berlin52", 7542), ("att48", 10628), ("ulysses16", 6859), ("kroA100", 21282), ("a280", 2579)],
)
def test_published_files(loaded, tmp_path, name, optimum, shared_data):
    """With its tour beside it, the reference of an instance is the published optimum; LKH finds it too."""
    shutil.copy(shared_data / "tsp" / f"{name}.tsp", tmp_path)
    shutil.copy(shared_data / "tsp" / "tours" / f"{name}.opt.tour", tmp_path)
    (instance,) = loaded.problem.read(tmp_path / f"{name}.tsp")
    assert loaded.problem.read_reference(tmp_path / f"{name}.tsp") == [optimum]
    assert loaded.problem.objective(instance, loaded.problem.solvers()["lkh"](instance)) == optimum
    walked = loaded.problem.objective(instance, loaded.problem.solve(loaded.baselines["nearest_neighbour"], instance))
    assert optimum < walked < 1.5 * optimum


@pytest.mark.parametrize("suffix", [".opt.tour", ".tour"])
def test_the_tour_beside_it_is_the_reference(loaded, write, suffix):
    """Its length, 3 + 4 + 5; without one there is none."""
    path = write("bare.tsp", EXPLICIT)
    assert loaded.problem.read_reference(path) is None
    write(f"bare{suffix}", TOUR)
    assert loaded.problem.read_reference(path) == [12]


@pytest.mark.parametrize(
    ("tour", "message"),
    [
        (TOUR.replace(" 3", ""), r"bare.tour: expected a tour of 3 nodes \(bare.tsp\), got 2"),
        (TOUR.replace("3", "x"), "bare.tour, line 3: expected a node id, got 'x'"),
    ],
)
def test_a_tour_of_something_else_is_refused(loaded, write, tour, message):
    """The message names the tour file."""
    write("bare.tour", tour)
    with pytest.raises(InstanceFileError, match=message):
        loaded.problem.read_reference(write("bare.tsp", EXPLICIT))


def test_distances_alone_make_an_instance(loaded, write):
    """It can be solved and priced; to draw it, coordinates are missing, and the message says so."""
    (instance,) = loaded.problem.read(write("bare.tsp", EXPLICIT))
    tour = loaded.problem.solve(loaded.baselines["nearest_neighbour"], instance)
    assert (tour.tolist(), loaded.problem.objective(instance, tour)) == ([0, 1, 2], 12)
    with pytest.raises(ContentError, match="expected coordinates to draw bare, its file has none"):
        loaded.problem.draw(instance, tour)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_points_make_instances(loaded, tmp_path, size):
    """Euclidean distances, not rounded, each instance named after the file; solved from the smallest size on."""
    points = np.random.default_rng(size).random((3, size, 2))
    points[0] = 0.5
    np.save(tmp_path / "some.npy", points)
    instances = loaded.problem.read(tmp_path / "some.npy")
    assert [(i.name, i.seed) for i in instances] == [("some-0", 0), ("some-1", 1), ("some-2", 2)]
    for instance, expected in zip(instances, points, strict=True):
        assert np.array_equal(instance.data["coordinates"], expected)
        assert np.array_equal(instance.data["distance_matrix"], distance_matrix(expected))
        assert not instance.data["distance_matrix"].flags.writeable
        for heuristic in loaded.baselines.values():
            tour = loaded.problem.solve(heuristic, instance)
            assert loaded.problem.objective(instance, tour) >= 0
            assert loaded.problem.draw(instance, tour).startswith("<svg ")
    assert loaded.problem.read_reference(tmp_path / "some.npy") is None


def test_another_kind_is_refused(loaded, write):
    """A routing file belongs to another problem; what is no instance at all is told by its line."""
    routing = EXPLICIT.replace(": TSP", ": CVRP").replace("EOF", "DEMAND_SECTION\n1 0\n2 1\n3 1\nDEPOT_SECTION\n1\n-1")
    routing = routing.replace("DIMENSION", "CAPACITY : 2\nDIMENSION")
    with pytest.raises(InstanceFileError, match="expected TYPE TSP or ATSP, got CVRP, which the problem cvrp reads"):
        loaded.problem.read(write("routes.vrp", routing))
    with pytest.raises(InstanceFileError, match=r"some.txt, line 1: expected a keyword"):
        loaded.problem.read(write("some.txt", "12 7\n"))


def test_solvers_are_those_of_the_metadata(loaded):
    """Each returns a tour no longer than that of nearest neighbour; 12 nodes."""
    points = np.random.default_rng(7).random((12, 2))
    instance = Instance("made", 0, {"coordinates": points, "distance_matrix": distance_matrix(points)})
    nearest = loaded.problem.objective(instance, loaded.problem.solve(loaded.baselines["nearest_neighbour"], instance))
    solvers = loaded.problem.solvers()
    assert set(solvers) == {solver.name for solver in loaded.folder.spec.solvers}
    lengths = {name: loaded.problem.objective(instance, solver(instance)) for name, solver in solvers.items()}
    assert lengths["lkh"] == pytest.approx(lengths["ortools"])
    assert lengths["lkh"] <= nearest
