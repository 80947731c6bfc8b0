"""The TSP by ant colony: published arrays, the protocol of `solve`, what the colony makes of it, files and solvers."""

import hashlib
import io
import shutil
from xml.etree import ElementTree

import numpy as np
import pytest

from coevo.errors import ContentError, Infeasible, InstanceFileError
from coevo.interfaces import Instance
from coevo.problemkit.tours import check_tour, distance_matrix, tour_length

SVG = "{http://www.w3.org/2000/svg}"

RECTANGLE = np.array([[0.0, 0.0], [0.0, 3.0], [4.0, 3.0], [4.0, 0.0]])

EXPLICIT = """\
NAME : bare
TYPE : {kind}
DIMENSION : 3
EDGE_WEIGHT_TYPE : EXPLICIT
EDGE_WEIGHT_FORMAT : FULL_MATRIX
EDGE_WEIGHT_SECTION
0 3 4
{back} 0 5
4 5 0
EOF
"""


@pytest.fixture(scope="module")
def aco(bundled):
    """The parts of the problem."""
    return bundled("tsp-aco")


def to_instance(points, seed=0):
    """An instance over given points."""
    return Instance("made", seed, {"coordinates": points, "distance_matrix": distance_matrix(points)})


@pytest.mark.parametrize(
    ("split", "digest"),
    [("search", "49cfd10c6d21efd3"), ("test50", "d17c6c87ee622dbc"), ("test100", "c2ef5e1fa54afce9")],
)
def test_coordinates_are_the_published_arrays_bit_for_bit(aco, split, digest):
    """Saved as .npy, the split has the SHA-256 of the published file (its first 16 digits)."""
    file = io.BytesIO()
    np.save(file, np.stack([instance.data["coordinates"] for instance in aco.instances[split]]))
    assert hashlib.sha256(file.getvalue()).hexdigest()[:16] == digest


@pytest.mark.parametrize(
    ("split", "shape"),
    [("search", (5, 50)), ("val", (64, 50)), ("test20", (64, 20)), ("test50", (64, 50)), ("test100", (64, 100))],
)
def test_splits_have_their_sizes(aco, split, shape):
    """Number of instances and nodes; distances to nodes themselves are zero, whatever the heuristic is shown."""
    instances = aco.instances[split]
    assert (len(instances), len(instances[0].data["coordinates"])) == shape
    assert all(not instance.data["distance_matrix"].diagonal().any() for instance in instances)


def test_the_heuristic_gets_distances_with_ones_on_the_diagonal(aco):
    """So that 1/distance is finite; read-only, and a copy."""
    instance, seen = to_instance(RECTANGLE), []

    def heuristic(distance_matrix):
        seen.append(distance_matrix)
        return 1 / distance_matrix

    solution = aco.problem.solve(heuristic, instance)
    assert seen[0].tolist() == [[1, 3, 5, 4], [3, 1, 4, 5], [5, 4, 1, 3], [4, 5, 3, 1]]
    assert solution.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        seen[0][0, 1] = 9
    assert instance.data["distance_matrix"][0, 0] == 0
    assert aco.problem.objective(instance, solution) == 14


def test_a_result_that_is_its_own_input_does_not_matter(aco):
    """The solution is a copy of whatever the heuristic returned, its argument included."""
    solution = aco.problem.solve(lambda distance_matrix: distance_matrix, to_instance(RECTANGLE))
    assert solution.flags.writeable
    assert solution[0, 1] == 3


def test_negative_weights_count_as_the_floor(aco):
    """A matrix of them is as good as one of zeros."""
    instance = aco.instances["search"][0]
    nothing = aco.problem.objective(instance, np.zeros((50, 50)))
    assert aco.problem.objective(instance, np.full((50, 50), -3.0)) == nothing


@pytest.mark.parametrize("points", [RECTANGLE[:1], RECTANGLE[:2], np.zeros((5, 2))])
def test_few_nodes_and_nodes_at_one_place(aco, points):
    """Every baseline copes with them."""
    instance = to_instance(points)
    expected = {1: 0, 2: 6, 5: 0}[len(points)]
    for heuristic in aco.baselines.values():
        assert aco.problem.objective(instance, aco.problem.solve(heuristic, instance)) == expected


@pytest.mark.parametrize("split", ["search", "val", "test20", "test50", "test100"])
def test_reference_is_between_a_lower_bound_and_every_baseline(aco, split):
    """Half the sum of each node's two shortest edges, the stored optimum, and what ants find on the first instances."""
    reference = aco.problem.reference(split)
    assert reference.dtype == np.float64
    assert reference.shape == (len(aco.instances[split]),)
    for optimum, instance in zip(reference, aco.instances[split], strict=True):
        assert np.sort(instance.data["distance_matrix"], axis=1)[:, 1:3].sum() / 2 <= optimum
    for optimum, instance in zip(reference[:4], aco.instances[split], strict=False):
        for heuristic in aco.baselines.values():
            assert aco.problem.objective(instance, aco.problem.solve(heuristic, instance)) >= optimum - 1e-9


def test_reference_solvers_lead_the_ants(aco):
    """LKH's matrix has the stored optimum as its objective, whatever the seed; OR-Tools' is not below it."""
    pytest.importorskip("elkai", reason="elkai is not installed")
    solvers = aco.problem.solvers()
    assert list(solvers) == [solver.name for solver in aco.folder.spec.solvers]
    for optimum, instance in zip(aco.problem.reference("test20")[:3], aco.instances["test20"], strict=False):
        solution = solvers["lkh"](instance)
        for seed in range(3):
            again = Instance(instance.name, seed, instance.data)
            assert aco.problem.objective(again, solution) == pytest.approx(optimum, abs=1e-9)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_ortools_leads_the_ants_too(aco):
    """On the rectangle, along its sides."""
    pytest.importorskip("ortools", reason="OR-Tools is not installed")
    instance = to_instance(RECTANGLE)
    assert aco.problem.objective(instance, aco.problem.solvers()["ortools"](instance)) == 14


def test_drawing_shows_the_tour_that_was_found(aco):
    """One dot per node, one closed line, one square at its start, and the length in the title."""
    instance = aco.instances["search"][0]
    solution = aco.problem.solve(aco.baselines["closeness"], instance)
    root = ElementTree.fromstring(aco.problem.draw(instance, solution))
    tags = [child.tag for child in root]
    assert [tags.count(f"{SVG}{tag}") for tag in ("circle", "polygon", "rect")] == [50, 1, 1]
    assert root[0].text == f"search-0: 50 nodes, length {aco.problem.objective(instance, solution):.4f}"
    with pytest.raises(Infeasible):
        aco.problem.draw(instance, solution[:-1])


def test_the_line_drawn_is_a_tour_of_the_stated_length(aco):
    """Read back from the drawing of nodes on a grid, where pixels are exact."""
    points = np.array([[x, y] for x in range(4) for y in range(4)], dtype=float)
    instance = to_instance(points)
    solution = aco.problem.solve(aco.baselines["steep_closeness"], instance)
    line = next(ElementTree.fromstring(aco.problem.draw(instance, solution)).iter(f"{SVG}polygon"))
    pixels = np.array([[float(number) for number in pair.split(",")] for pair in line.get("points").split()])
    found = (pixels - pixels.min(axis=0)) / (np.ptp(pixels[:, 0]) / 3)
    nodes = np.rint(found[:, 0] * 4 + 3 - found[:, 1]).astype(int)
    assert nodes[0] == nodes[-1]
    tour = check_tour(nodes[:-1], 16)
    assert tour_length(instance.data["distance_matrix"], tour) == pytest.approx(
        aco.problem.objective(instance, solution)
    )


@pytest.mark.parametrize(("name", "optimum"), [("eil51", 426), ("berlin52", 7542), ("ulysses16", 6859)])
def test_published_files(aco, tmp_path, name, optimum, shared_data):
    """Distances as the format rounds them, the published optimum as reference, and ants that come near it."""
    shutil.copy(shared_data / "tsp" / f"{name}.tsp", tmp_path)
    shutil.copy(shared_data / "tsp" / "tours" / f"{name}.opt.tour", tmp_path)
    (instance,) = aco.problem.read(tmp_path / f"{name}.tsp")
    assert aco.problem.read_reference(tmp_path / f"{name}.tsp") == [optimum]
    solution = aco.problem.solve(aco.baselines["relative_closeness"], instance)
    assert optimum <= aco.problem.objective(instance, solution) < 1.15 * optimum


def test_numpy_files_are_read_with_a_seed_each(aco, tmp_path):
    """One instance per point set; seeds by place."""
    np.save(tmp_path / "points.npy", np.stack([RECTANGLE, RECTANGLE * 2]))
    instances = aco.problem.read(tmp_path / "points.npy")
    assert [instance.seed for instance in instances] == [0, 1]
    assert [aco.problem.objective(each, np.ones((4, 4))) for each in instances] == [14, 28]
    assert aco.problem.read_reference(tmp_path / "points.npy") is None


def test_files_without_coordinates_can_be_solved_but_not_drawn(aco, tmp_path):
    """The heuristic needs distances alone."""
    file = tmp_path / "bare.tsp"
    file.write_text(EXPLICIT.format(kind="TSP", back=3))
    (instance,) = aco.problem.read(file)
    assert aco.problem.objective(instance, np.ones((3, 3))) == 12
    with pytest.raises(ContentError, match="expected coordinates to draw bare, its file has none"):
        aco.problem.draw(instance, np.ones((3, 3)))


def test_one_way_distances_are_refused(aco, tmp_path):
    """On a tour, ants mark both ways alike."""
    file = tmp_path / "bare.atsp"
    file.write_text(EXPLICIT.format(kind="ATSP", back=9))
    message = r"bare.atsp: expected symmetric distances, got 3 from node 0 to 1 of bare and 9 back"
    with pytest.raises(InstanceFileError, match=message):
        aco.problem.read(file)
