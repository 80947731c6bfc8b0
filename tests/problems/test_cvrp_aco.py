"""Vehicle routing by ant colony: published arrays, the protocol of `solve`, what ants make of it, files, solvers."""

import hashlib
import io
import shutil
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

from coevo.errors import Infeasible, InstanceFileError
from coevo.interfaces import Instance
from coevo.problemkit.tours import distance_matrix

SVG = "{http://www.w3.org/2000/svg}"

CROSS = np.array([[0.0, 0.0], [3.0, 0.0], [4.0, 0.0], [0.0, 3.0], [0.0, 4.0]])
"""A depot and two customers in each of two directions."""

VRP = """\
NAME : small
TYPE : CVRP
DIMENSION : 3
EDGE_WEIGHT_TYPE : EUC_2D
CAPACITY : 5
NODE_COORD_SECTION
1 3 4
2 0 0
3 0 8
DEMAND_SECTION
1 2
2 0
3 4
DEPOT_SECTION
2
-1
EOF
"""


@pytest.fixture(scope="module")
def aco(bundled):
    """The parts of the problem."""
    return bundled("cvrp-aco")


def to_instance(points, demands, capacity, seed=0):
    """An instance over given points, the depot first."""
    data = {"coordinates": points, "distance_matrix": distance_matrix(points), "demands": np.array(demands)}
    return Instance("made", seed, {**data, "capacity": capacity})


@pytest.mark.parametrize(
    ("split", "digest"),
    [("search", "caf38e123b53da4f"), ("test50", "31abe8d53a4ceadb"), ("test100", "be269268119b8e68")],
)
def test_instances_are_the_published_arrays_bit_for_bit(aco, split, digest):
    """Saved as .npy, demands and coordinates have the SHA-256 of the published file (its first 16 digits)."""
    rows = [np.column_stack([i.data["demands"], i.data["coordinates"]]) for i in aco.instances[split]]
    file = io.BytesIO()
    np.save(file, np.stack(rows))
    assert hashlib.sha256(file.getvalue()).hexdigest()[:16] == digest


@pytest.mark.parametrize(
    ("split", "shape"),
    [("search", (10, 51)), ("val", (64, 51)), ("test20", (64, 21)), ("test50", (64, 51)), ("test100", (64, 101))],
)
def test_splits_have_their_sizes_and_ranges(aco, split, shape):
    """Instances and nodes, the depot in the middle without a demand, demands from 1 to 9, one capacity."""
    instances = aco.instances[split]
    assert (len(instances), len(instances[0].data["demands"])) == shape
    for data in (instance.data for instance in instances):
        assert data["coordinates"][0].tolist() == [0.5, 0.5]
        assert data["demands"].dtype == np.int64
        assert (data["demands"][0], data["capacity"]) == (0, 50)
        assert set(data["demands"][1:].tolist()) <= set(range(1, 10))
        assert not data["distance_matrix"].diagonal().any()


def test_the_heuristic_gets_what_is_described(aco):
    """Distances with ones on the diagonal, coordinates, demands as floats, an int; read-only, and copies."""
    instance, seen = to_instance(CROSS, [0, 2, 2, 2, 2], 4), []

    def heuristic(distance_matrix, coordinates, demands, capacity):
        seen.extend([distance_matrix, coordinates, demands, capacity])
        return 1 / distance_matrix

    solution = aco.problem.solve(heuristic, instance)
    distances, coordinates, demands, capacity = seen
    assert distances.diagonal().tolist() == [1] * 5
    assert np.array_equal(coordinates, CROSS)
    assert (demands.dtype, demands.tolist()) == (np.float64, [0, 2, 2, 2, 2])
    assert (type(capacity), capacity) == (int, 4)
    for array in seen[:3]:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 9
    assert instance.data["distance_matrix"][0, 0] == 0
    assert solution.dtype == np.float64


def test_four_customers_by_hand(aco):
    """With room for two, a vehicle per direction costs 8 + 8; with room for one, four vehicles cost 6 + 8 + 6 + 8."""
    ones = np.ones((5, 5))
    assert aco.problem.objective(to_instance(CROSS, [0, 2, 2, 2, 2], 4), ones) == 16
    assert aco.problem.objective(to_instance(CROSS, [0, 2, 2, 2, 2], 3), ones) == 28
    assert aco.problem.objective(to_instance(CROSS, [0, 0, 0, 0, 0], 0), ones) == pytest.approx(8 + np.sqrt(32))


def test_a_finished_ant_pays_nothing_for_waiting(aco):
    """One vehicle can serve all, for 8 + √32, while other ants detour; each step of waiting for them would add 1."""
    data = to_instance(CROSS, [0, 1, 1, 1, 1], 9).data
    found = [aco.problem.objective(Instance("made", seed, data), np.ones((5, 5))) for seed in range(5)]
    assert min(found) == pytest.approx(8 + np.sqrt(32), abs=1e-12)


def test_a_demand_above_the_capacity_is_refused(aco):
    """It says which customer, rather than to search for ever."""
    with pytest.raises(ValueError, match="expected demands from 0 to the capacity 4, node 3 has 5"):
        aco.problem.objective(to_instance(CROSS, [0, 2, 2, 5, 2], 4), np.ones((5, 5)))


@pytest.mark.parametrize("points", [CROSS[:1], CROSS[:2], np.zeros((5, 2))])
def test_few_customers_and_customers_at_one_place(aco, points):
    """Every baseline copes with them."""
    instance = to_instance(points, [0, *[1] * (len(points) - 1)], 2)
    expected = {1: 0, 2: 6, 5: 0}[len(points)]
    for heuristic in aco.baselines.values():
        assert aco.problem.objective(instance, aco.problem.solve(heuristic, instance)) == expected


@pytest.mark.parametrize("split", ["search", "val", "test20", "test50", "test100"])
def test_reference_is_between_a_lower_bound_and_every_baseline(aco, split):
    """2·Σ demand·distance / capacity ≤ the stored length ≤ what ants find on the first instances."""
    reference = aco.problem.reference(split)
    assert reference.dtype == np.float64
    assert reference.shape == (len(aco.instances[split]),)
    for known, data in zip(reference, (instance.data for instance in aco.instances[split]), strict=True):
        assert 2 * data["demands"] @ data["distance_matrix"][0] / data["capacity"] <= known
    for known, instance in zip(reference[:4], aco.instances[split], strict=False):
        for heuristic in aco.baselines.values():
            assert aco.problem.objective(instance, aco.problem.solve(heuristic, instance)) >= known - 1e-9


def test_the_reference_solver_leads_the_ants(aco):
    """PyVRP's matrix has the length of its routes as objective, whatever the seed: here the least there is."""
    pytest.importorskip("pyvrp", reason="PyVRP is not installed")
    solvers = aco.problem.solvers()
    assert list(solvers) == [solver.name for solver in aco.folder.spec.solvers]
    instance = to_instance(CROSS, [0, 2, 2, 2, 2], 4)
    solution = solvers["pyvrp"](instance)
    for seed in range(3):
        assert aco.problem.objective(Instance("made", seed, instance.data), solution) == 16


def test_drawing_shows_every_route_and_the_depot(aco):
    """A dot per customer, a square at the depot, a closed line per route, dashed unlike its neighbours."""
    instance = aco.instances["search"][0]
    solution = aco.problem.solve(aco.baselines["heavy_together"], instance)
    root = ElementTree.fromstring(aco.problem.draw(instance, solution))
    tags = [child.tag for child in root]
    lines = list(root.iter(f"{SVG}polygon"))
    assert [tags.count(f"{SVG}{tag}") for tag in ("circle", "rect")] == [50, 1]
    assert len(lines) >= 5
    length = aco.problem.objective(instance, solution)
    assert root[0].text == f"search-0: 50 customers, {len(lines)} routes, length {length:.4f}"
    patterns = [line.get("stroke-dasharray") for line in lines]
    assert all(one != other for one, other in pairwise(patterns))
    corners = [line.get("points").split() for line in lines]
    assert len({places[0] for places in corners}) == 1
    assert sum(len(places) - 1 for places in corners) == 50
    with pytest.raises(Infeasible):
        aco.problem.draw(instance, solution[:-1])


def test_drawing_a_depot_alone_is_possible(aco):
    """No routes, no dots, one square."""
    text = aco.problem.draw(to_instance(CROSS[:1], [0], 2), np.ones((1, 1)))
    assert [text.count(f"<{tag}") for tag in ("polygon", "circle", "rect")] == [0, 0, 1]


@pytest.mark.parametrize(("name", "best"), [("A-n32-k5", 784), ("P-n16-k8", 450), ("B-n31-k5", 672)])
def test_published_files(aco, tmp_path, name, best, shared_data):
    """Distances as the format rounds them, the published cost as reference, and ants that come near it."""
    for suffix in (".vrp", ".sol"):
        shutil.copy(shared_data / "cvrp" / f"{name}{suffix}", tmp_path)
    (instance,) = aco.problem.read(tmp_path / f"{name}.vrp")
    assert aco.problem.read_reference(tmp_path / f"{name}.vrp") == [best]
    solution = aco.problem.solve(aco.baselines["heavy_together"], instance)
    assert best <= aco.problem.objective(instance, solution) < 1.25 * best


def test_a_file_with_its_depot_elsewhere(aco, tmp_path):
    """The depot becomes node 0: two vehicles, there and back, 10 + 16."""
    file = tmp_path / "small.vrp"
    file.write_text(VRP)
    (instance,) = aco.problem.read(file)
    assert instance.data["demands"].tolist() == [0, 2, 4]
    assert aco.problem.objective(instance, np.ones((3, 3))) == 26
    assert aco.problem.read_reference(file) is None


def test_files_that_no_heuristic_or_vehicle_can_do_with_are_refused(aco, tmp_path):
    """Without coordinates, or with a demand above the capacity."""
    file = tmp_path / "small.vrp"
    start, rest = VRP.split("NODE_COORD_SECTION")[0], VRP.split("DEMAND_SECTION")[1]
    explicit = start.replace("EUC_2D", "EXPLICIT\nEDGE_WEIGHT_FORMAT : UPPER_ROW")
    file.write_text(f"{explicit}EDGE_WEIGHT_SECTION\n5 5 8\nDEMAND_SECTION{rest}")
    with pytest.raises(InstanceFileError, match="expected coordinates of small for the heuristic, got none"):
        aco.problem.read(file)
    file.write_text(VRP.replace("3 4\nDEPOT", "3 6\nDEPOT"))
    with pytest.raises(
        InstanceFileError, match=r"small.vrp, line 13: expected a demand of node 3 between 0 and the CAPACITY 5"
    ):
        aco.problem.read(file)
