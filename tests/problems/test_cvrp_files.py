"""CVRPLIB files as instances of the problem cvrp."""

from itertools import pairwise

import numpy as np
import pytest

from coevo.content import find_problem, load_module
from coevo.errors import InstanceFileError
from coevo.problemkit.tsplib import read_tsplib

FOLDER = find_problem("cvrp")
BEST = {"A-n32-k5": 784, "B-n31-k5": 672, "P-n16-k8": 450, "X-n101-k25": 27591, "X-n200-k36": 58578}


FILE = """\
NAME : three
TYPE : CVRP
DIMENSION : 4
EDGE_WEIGHT_TYPE : EUC_2D
CAPACITY : 5
NODE_COORD_SECTION
1 0 3
2 0 0
3 4 0
4 0 9
DEMAND_SECTION
1 3
2 0
3 2
4 5
DEPOT_SECTION
2
-1
EOF
"""

EXPLICIT = """\
NAME : bare
TYPE : CVRP
DIMENSION : 2
EDGE_WEIGHT_TYPE : EXPLICIT
EDGE_WEIGHT_FORMAT : FULL_MATRIX
CAPACITY : 5
EDGE_WEIGHT_SECTION
0 7 8 0
DEMAND_SECTION
1 0
2 5
DEPOT_SECTION
1
-1
EOF
"""


@pytest.fixture(scope="module")
def problem(bundled):
    """Its module."""
    return bundled("cvrp").problem


@pytest.fixture
def write(tmp_path):
    """Writes a file and, if given, the solution beside it; returns the path of the former."""

    def to_files(text, solution=None):
        (tmp_path / "made.vrp").write_text(text)
        if solution is not None:
            (tmp_path / "made.sol").write_text(solution)
        return tmp_path / "made.vrp"

    return to_files


@pytest.mark.parametrize(("name", "best"), BEST.items())
def test_published_files(problem, name, best, shared_data):
    """The reference is the published cost; savings stay within 10 % of it, nearest neighbour within 60 %."""
    (instance,) = problem.read(shared_data / "cvrp" / f"{name}.vrp")
    assert problem.read_reference(shared_data / "cvrp" / f"{name}.vrp") == [best]
    nearest = load_module(FOLDER.path / "baselines" / "nearest_neighbour.py").select_next_node
    savings = problem.objective(instance, problem.classics()["savings"](instance))
    walked = problem.objective(instance, problem.solve(nearest, instance))
    assert best < savings < 1.1 * best
    assert best < walked < 1.6 * best


def test_nearest_neighbour_on_x_n101_is_that_of_a_plain_loop(problem, shared_data):
    """Its length, counted from the file without any code of the problem but the reader."""
    file = read_tsplib(shared_data / "cvrp" / "X-n101-k25.vrp")
    nodes, left, rest = [0], set(range(1, 101)), file.capacity
    while left:
        fitting = [node for node in left if file.demands[node] <= rest]
        node = min(fitting, key=lambda node: (file.distances[nodes[-1], node], node)) if fitting else 0
        rest = rest - file.demands[node] if node else file.capacity
        nodes.append(node)
        left.discard(node)
    nearest = load_module(FOLDER.path / "baselines" / "nearest_neighbour.py").select_next_node
    (instance,) = problem.read(shared_data / "cvrp" / "X-n101-k25.vrp")
    length = problem.objective(instance, problem.solve(nearest, instance))
    assert length == sum(file.distances[leg] for leg in pairwise([*nodes, 0]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["A-n32-k5", "B-n31-k5", "P-n16-k8"])
def test_the_solver_finds_the_published_optimum(problem, name, shared_data):
    """PyVRP, through the file."""
    (instance,) = problem.read(shared_data / "cvrp" / f"{name}.vrp")
    assert problem.objective(instance, problem.solvers()["pyvrp"](instance)) == BEST[name]


def test_the_depot_comes_first(problem, write):
    """It becomes node 0, the other nodes keep their order; arrays are read-only."""
    (instance,) = problem.read(write(FILE))
    assert instance.name == "three"
    assert instance.data["coordinates"].tolist() == [[0, 0], [0, 3], [4, 0], [0, 9]]
    assert instance.data["demands"].tolist() == [0, 3, 2, 5]
    assert instance.data["distance_matrix"][0].tolist() == [0, 3, 4, 9]
    assert instance.data["capacity"] == 5
    assert not any(value.flags.writeable for value in instance.data.values() if isinstance(value, np.ndarray))


def test_a_file_without_coordinates(problem, write):
    """Distances in their direction: out 7, back 8."""
    (instance,) = problem.read(write(EXPLICIT))
    assert "coordinates" not in instance.data
    assert problem.objective(instance, np.array([0, 1, 0])) == 15


def test_another_kind_is_refused(problem, write):
    """A TSP file is not a CVRP."""
    text = EXPLICIT[: EXPLICIT.index("DEMAND")].replace(": CVRP", ": ATSP")
    with pytest.raises(InstanceFileError, match="expected TYPE CVRP, got ATSP"):
        problem.read(write(text))


@pytest.mark.parametrize("solution", ["Route #1: 1 2\nRoute #2: 3\nCost 30", "Route #1: 2 1\nRoute #2: 3\n"])
def test_the_solution_beside_it_is_the_reference(problem, write, solution):
    """Counted again: 3 + 5 + 4 and 9 + 9; the customers of a solution are counted without the depot."""
    assert problem.read_reference(write(FILE, solution)) == [30]


def test_no_solution_no_reference(problem, write):
    """Nothing is there to be read."""
    assert problem.read_reference(write(FILE)) is None


@pytest.mark.parametrize(
    ("solution", "message"),
    [
        ("Route #1: 1 2\nRoute #2: 3\nCost 29", "made.sol, line 3: expected Cost 30, the length of .*, got 29"),
        ("Route #1: 1 2\nCost 12", "expected a solution of made.vrp, got one where .* customer 3 is missing"),
        ("Route #1: 1 3\nRoute #2: 2\nCost 12", "route 1 carries 8, more than the capacity 5"),
        ("Route #1: 1 2\nRoute #2: 4\nCost 12", "node 4 at position 4 is not one of 0 to 3"),
        ("Route #1: 1 x\n", "made.sol, line 1: expected a customer, got 'x'"),
    ],
)
def test_a_solution_of_something_else_is_refused(problem, write, solution, message):
    """The message names the solution file."""
    with pytest.raises(InstanceFileError, match=message):
        problem.read_reference(write(FILE, solution))
