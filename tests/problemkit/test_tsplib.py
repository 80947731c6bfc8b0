"""TSPLIB and CVRPLIB files: published optima to the unit, every layout, and a line for every mistake."""

import csv
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import vrplib
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coevo.errors import InstanceFileError
from coevo.problemkit import tsplib_weights
from coevo.problemkit.solution_files import read_routes, read_tour
from coevo.problemkit.solvers import lkh_tour, ortools_tour
from coevo.problemkit.tours import tour_length
from coevo.problemkit.tsplib import read_tsplib

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="no instance files beside the checkout (../shared/data)")

TRIANGLE = """\
NAME : triangle
TYPE : TSP
DIMENSION : 3
EDGE_WEIGHT_TYPE : EUC_2D
NODE_COORD_SECTION
1 0 0
2 3.0e+00 0
3 0 4.
EOF
"""

ROUTING = """\
NAME : two
COMMENT : (two customers: 3 and 4)
TYPE : CVRP
DIMENSION : 3
EDGE_WEIGHT_TYPE : EUC_2D
CAPACITY : 5
NODE_COORD_SECTION
1 0 0
2 0 3
3 4 0
DEMAND_SECTION
1 0
2 3
3 4
DEPOT_SECTION
 1
 -1
EOF
"""

EXPLICIT = """\
NAME: full
TYPE: ATSP
DIMENSION: 3
EDGE_WEIGHT_TYPE: EXPLICIT
EDGE_WEIGHT_FORMAT: FULL_MATRIX
EDGE_WEIGHT_SECTION
9999 1 2 3
9999 4 5 6
9999
EOF
"""


def optima(kind):
    """(file, optimum) of every instance of a kind."""
    if not DATA.is_dir():
        return []
    with (DATA / "optima.csv").open() as file:
        return [(DATA / row["file"], float(row["value"])) for row in csv.DictReader(file) if row["kind"] == kind]


def name_of(value):
    """The stem of a file, as the name of a test."""
    return value.stem if isinstance(value, Path) else ""


@pytest.fixture
def write(tmp_path):
    """Writes text or bytes to a file and returns its path."""

    def to_file(content, name="made.tsp"):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path / name

    return to_file


def without(text, start):
    """The text without the line that begins so."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(start))


@needs_data
@pytest.mark.parametrize(("file", "optimum"), optima("tsp"), ids=name_of)
def test_published_tours_have_the_published_length(file, optimum):
    """Each optimal tour costs the optimum exactly; where none is published, LKH finds one."""
    instance = read_tsplib(file)
    published = file.parent / "tours" / f"{file.stem}.opt.tour"
    tour = read_tour(published) if published.exists() else lkh_tour(instance.distances)
    assert (instance.name, instance.kind, len(instance.distances)) == (file.stem, "TSP", len(tour))
    assert tour_length(instance.distances, tour) == optimum


@needs_data
@pytest.mark.parametrize("name", ["gr17", "gr21"])
def test_no_tour_of_an_explicit_instance_is_shorter_than_the_optimum(name):
    """OR-Tools' search ends in the published optimum of the two instances without coordinates."""
    optimum = {file.stem: value for file, value in optima("tsp")}[name]
    instance = read_tsplib(DATA / "tsp" / f"{name}.tsp")
    assert instance.coordinates is None
    assert tour_length(instance.distances, ortools_tour(instance.distances, seconds=0.5)) == optimum


@needs_data
@pytest.mark.parametrize(("file", "optimum"), optima("cvrp"), ids=name_of)
def test_published_routes_have_the_published_cost(file, optimum):
    """Each solution is feasible, states the cost of the table, and costs it exactly."""
    instance, solution = read_tsplib(file), read_routes(file.with_suffix(".sol"))
    legs = [leg for route in solution.routes for leg in pairwise((0, *route, 0))]
    assert solution.cost == optimum == sum(instance.distances[leg] for leg in legs)
    assert sorted(node for route in solution.routes for node in route) == list(range(1, len(instance.demands)))
    assert max(instance.demands[list(route)].sum() for route in solution.routes) <= instance.capacity
    assert (instance.kind, instance.depot, instance.demands[0]) == ("CVRP", 0, 0)


@needs_data
@pytest.mark.parametrize("file", [file for file, _ in optima("cvrp")], ids=name_of)
def test_vrplib_reads_the_same(file):
    """Coordinates, demands and capacity are equal; its exact distances, rounded, are those here."""
    instance, oracle = read_tsplib(file), vrplib.read_instance(file)
    assert np.array_equal(instance.coordinates, oracle["node_coord"])
    assert np.array_equal(instance.demands, oracle["demand"])
    assert (instance.capacity, instance.depot, instance.name) == (
        oracle["capacity"],
        oracle["depot"][0],
        oracle["name"],
    )
    assert np.array_equal(instance.distances, np.rint(oracle["edge_weight"]))


def test_a_file_by_hand(write):
    """The triangle 3, 4, 5; arrays are read-only and of their types."""
    instance = read_tsplib(write(TRIANGLE))
    assert (instance.name, instance.kind, instance.demands, instance.capacity) == ("triangle", "TSP", None, None)
    assert instance.coordinates.tolist() == [[0, 0], [3, 0], [0, 4]]
    assert instance.distances.tolist() == [[0, 3, 4], [3, 0, 5], [4, 5, 0]]
    assert {instance.coordinates.dtype, instance.distances.dtype} == {np.dtype(np.float64)}
    assert [array.flags.writeable for array in (instance.coordinates, instance.distances)] == [False, False]


def test_a_routing_file_by_hand(write):
    """Demands, capacity and depot, counted from 0."""
    instance = read_tsplib(write(ROUTING))
    assert (instance.demands.tolist(), instance.capacity, instance.depot) == ([0, 3, 4], 5, 0)
    assert instance.demands.dtype == np.int64
    assert instance.distances.tolist() == [[0, 3, 4], [3, 0, 5], [4, 5, 0]]


def test_the_depot_may_be_any_node(write):
    """It is told by its id, and its demand is 0."""
    text = ROUTING.replace("1 0\n2 3", "1 3\n2 0").replace(" 1\n -1", "2 -1")
    instance = read_tsplib(write(text))
    assert (instance.depot, instance.demands.tolist()) == (1, [3, 0, 4])


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: text.replace(" :", ":"),
        lambda text: text.replace(" : ", ":"),
        lambda text: text.replace(" : ", "\t:\t"),
        lambda text: text.replace("SECTION", "SECTION :"),
        lambda text: without(text, "EOF"),
        lambda text: text + "whatever follows the end\n",
        lambda text: text.replace("1 0 0\n", "\n  1\t0.0   -0 \n"),
        lambda text: "# a remark\n" + text.replace("DIMENSION", "COMMENT : one\nCOMMENT : and another: 1\nDIMENSION"),
        lambda text: text.replace(": TSP", ": TSP (by hand)"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("1 0 0\n2 3.0e+00 0\n", "2 3 0\n1 0 0\n"),
        lambda text: text.replace("EOF", "DISPLAY_DATA_SECTION\n1 9 9\n2 8 8\n3 7 7\nEOF"),
    ],
)
def test_spellings_that_mean_the_same(write, change):
    """Line ends, colons, white space, remarks, the order of nodes and a missing EOF change nothing."""
    instance = read_tsplib(write(change(TRIANGLE)))
    assert instance.coordinates.tolist() == [[0, 0], [3, 0], [0, 4]]
    assert instance.distances.tolist() == [[0, 3, 4], [3, 0, 5], [4, 5, 0]]


def test_a_file_without_a_name_is_called_as_the_file(write):
    """The stem stands in, also for an empty NAME."""
    assert read_tsplib(write(without(TRIANGLE, "NAME"), "other.tsp")).name == "other"
    assert read_tsplib(write(TRIANGLE.replace(": triangle", ":"), "third.tsp")).name == "third"


def test_latin_letters_are_text(write):
    """A comment in Latin-1 does not make a file unreadable."""
    file = write(TRIANGLE.replace("DIMENSION", "COMMENT : Grötschel\nDIMENSION").encode("latin-1"))
    assert read_tsplib(file).name == "triangle"


def test_an_asymmetric_matrix_keeps_its_directions(write):
    """Rows are where a way begins; whatever the diagonal says, it is zero; line ends mean nothing."""
    assert read_tsplib(write(EXPLICIT)).distances.tolist() == [[0, 1, 2], [3, 0, 4], [5, 6, 0]]


def test_display_coordinates_serve_where_distances_are_explicit(write):
    """They are only for drawing."""
    instance = read_tsplib(write(EXPLICIT.replace("EOF", "DISPLAY_DATA_SECTION\n1 0 0\n2 1 0\n3 1 1\nEOF")))
    assert instance.coordinates.tolist() == [[0, 0], [1, 0], [1, 1]]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "expected text, got an empty file"),
        (" \n\n", None, "expected text, got an empty file"),
        (b"NAME : x\n\x00\x01\x02", 2, "expected text, got binary data"),
        (b"\x89PNG\r\n\x1a\n", 2, "expected text, got binary data"),
        ("1 2 3\n", 1, "expected a keyword, got '1 2 3'"),
        ("hello world\n", 1, r"expected a keyword \(CAPACITY, COMMENT, .*\) or a number, got 'hello world'"),
        (without(TRIANGLE, "TYPE"), None, "expected TYPE, got none"),
        (TRIANGLE.replace(": TSP", ":"), 2, "expected TYPE, got nothing after the keyword"),
        (TRIANGLE.replace(": TSP", ": HCP"), 2, "expected TYPE to be one of TSP, ATSP, CVRP, got 'HCP'"),
        (without(TRIANGLE, "DIMENSION"), None, "expected DIMENSION, got none"),
        (TRIANGLE.replace(": 3", ": three"), 3, "expected DIMENSION: a number of nodes, got 'three'"),
        (TRIANGLE.replace(": 3", ": 3.5"), 3, "expected DIMENSION: a number of nodes that is whole, got '3.5'"),
        (TRIANGLE.replace(": 3", ": 0"), 3, "expected DIMENSION between 1 and 10,000 nodes, got '0'"),
        (TRIANGLE.replace(": 3", ": 99999"), 3, "expected DIMENSION between 1 and 10,000 nodes, got '99999'"),
        (TRIANGLE.replace(": 3", ": 4"), 8, r"for each of 4 nodes \(DIMENSION\), got 3; node 4 is missing"),
        (TRIANGLE.replace(": 3", ": 2"), 8, r"expected a node id from 1 to 2 \(DIMENSION\), got '3'"),
        (TRIANGLE.replace("DIMENSION", "NAME : again\nDIMENSION"), 3, "expected NAME once, got it again"),
        (TRIANGLE.replace("EOF", "NODE_COORD_SECTION"), 9, "expected NODE_COORD_SECTION once, got it again"),
        (
            TRIANGLE.replace("EUC_2D", "EUC_9D"),
            4,
            "expected EDGE_WEIGHT_TYPE to be one of EXPLICIT, EUC_2D, .*'EUC_9D'",
        ),
        (without(TRIANGLE, "EDGE_WEIGHT"), None, "expected EDGE_WEIGHT_TYPE, got none"),
        (TRIANGLE[: TRIANGLE.index("NODE")], 4, "expected NODE_COORD_SECTION for EDGE_WEIGHT_TYPE EUC_2D, got the end"),
        (TRIANGLE[: TRIANGLE.index("3 0 4")], 7, "expected .* got 2; node 3 is missing"),
        (TRIANGLE.replace("3 0 4.", "3 0"), 8, "expected a node id and two coordinates, got '3 0'"),
        (TRIANGLE.replace("3 0 4.", "3 0 4 5"), 8, "expected a node id and two coordinates, got '3 0 4 5'"),
        (TRIANGLE.replace("3 0 4.", "2 0 4"), 8, "expected node 2 once, got it in line 7 too"),
        (TRIANGLE.replace("3 0 4.", "0 0 4"), 8, "expected a node id from 1 to 3 .*, got '0'"),
        (TRIANGLE.replace("3 0 4.", "2.5 0 4"), 8, "expected a node id that is whole, got '2.5'"),
        (TRIANGLE.replace("3 0 4.", "3 0 4x"), 8, "expected a node id and two coordinates, got '4x'"),
        (TRIANGLE.replace("3 0 4.", "3 0 nan"), 8, "got 'nan'"),
        (TRIANGLE.replace("3 0 4.", "3 0 1e999"), 8, r"of at most 1e\+12 in size, got '1e999'"),
        (TRIANGLE.replace("3 0 4.", "3 0 1_0"), 8, "got '1_0'"),
        (TRIANGLE.replace("3 0 4.", "3 0 ４"), 8, "got '４'"),
        (TRIANGLE.replace("EOF", "FIXED_EDGES_SECTION\n1 2\n-1\nEOF"), 9, "got 'FIXED_EDGES_SECTION'"),
        (ROUTING.replace("CAPACITY", "DISTANCE : 9\nCAPACITY"), 6, "got 'DISTANCE : 9'"),
        (without(ROUTING, "CAPACITY"), None, "expected CAPACITY for TYPE CVRP, got none"),
        (ROUTING.replace(": 5", ": big"), 6, "expected CAPACITY: a load, got 'big'"),
        (ROUTING[: ROUTING.index("DEMAND")], 10, "expected DEMAND_SECTION for TYPE CVRP, got the end of the file"),
        (ROUTING[: ROUTING.index("DEPOT")], 14, "expected DEPOT_SECTION for TYPE CVRP, got the end of the file"),
        (ROUTING.replace(" 1\n -1\n", ""), 15, "expected one depot, got 0"),
        (ROUTING.replace(" 1\n -1", " 1\n 2\n -1"), 17, "expected one depot, got 2"),
        (ROUTING.replace(" -1", " -1 3"), 17, "expected nothing after -1 in DEPOT_SECTION, got '3'"),
        (ROUTING.replace(" 1\n -1", " 9\n -1"), 16, "expected a node id from 1 to 3 .*, got '9'"),
        (ROUTING.replace("1 0\n2 3", "1 2\n2 3"), 12, r"expected demand 0 at the depot \(node 1\), got 2"),
        (ROUTING.replace("3 4\n", "3 6\n"), 14, "expected a demand of node 3 between 0 and the CAPACITY 5, got 6"),
        (ROUTING.replace("3 4\n", "3 -1\n"), 14, "expected a demand of node 3 between 0 and the CAPACITY 5, got -1"),
        (ROUTING.replace("3 4\n", "3 4.5\n"), 14, "expected a demand that is whole, got '4.5'"),
        (
            ROUTING.replace("3 4\n", ""),
            13,
            r"expected a node id and a demand for each of 3 nodes .*; node 3 is missing",
        ),
        (without(EXPLICIT, "EDGE_WEIGHT_FORMAT"), None, "expected EDGE_WEIGHT_FORMAT for EDGE_WEIGHT_TYPE EXPLICIT"),
        (EXPLICIT.replace("FULL_MATRIX", "FUNCTION"), 5, "to be one of FULL_MATRIX, UPPER_ROW, .*, got 'FUNCTION'"),
        (EXPLICIT.replace("9999\nEOF", "EOF"), 8, r"expected 9 weights \(FULL_MATRIX of 3 nodes\), got 8"),
        (EXPLICIT.replace("EOF", "7 7\nEOF"), 10, r"expected 9 weights \(FULL_MATRIX of 3 nodes\), got 11"),
        (EXPLICIT.replace("4 5 6", "4 -5 6"), 8, "expected a weight that is not negative, got '-5'"),
        (EXPLICIT.replace("4 5 6", "4 x 6"), 8, "expected a weight, got 'x'"),
        (EXPLICIT.replace("ATSP", "TSP"), 7, "expected a symmetric matrix .* got 1 from node 1 to 2 and 3 back"),
        (EXPLICIT[: EXPLICIT.index("9999")].rpartition("EDGE")[0], 5, "expected EDGE_WEIGHT_SECTION for"),
    ],
)
def test_each_mistake_is_told_with_its_line(write, text, line, message):
    """The message begins with the file and the line, and says what was expected and what came."""
    file = write(text)
    where = f"{file}: " if line is None else f"{file}, line {line}: "
    with pytest.raises(InstanceFileError, match=message) as caught:
        read_tsplib(file)
    assert str(caught.value).startswith(where)


def test_what_is_no_file_is_told(tmp_path):
    """A missing file, a folder, and a name that no file can have."""
    for path, got in ((tmp_path / "none.tsp", "none"), (tmp_path, "a folder"), (Path("a\0b"), ".")):
        with pytest.raises(InstanceFileError, match=f"expected a (readable )?file, got {got}"):
            read_tsplib(path)


@given(st.integers(1, 7), st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_layout_gives_the_same_matrix(write, size, data):
    """A symmetric matrix written in any of the nine formats, with lines broken anywhere, is read back."""
    weight = st.one_of(st.integers(0, 10**6), st.floats(0, 1e6).map(lambda value: round(value, 3)))
    full = np.zeros((size, size))
    for row in range(size):
        for column in range(row):
            full[row, column] = full[column, row] = data.draw(weight)
    pairs = {
        "FULL_MATRIX": [(r, c) for r in range(size) for c in range(size)],
        "UPPER_ROW": [(r, c) for r in range(size) for c in range(r + 1, size)],
        "LOWER_ROW": [(r, c) for r in range(size) for c in range(r)],
        "UPPER_DIAG_ROW": [(r, c) for r in range(size) for c in range(r, size)],
        "LOWER_DIAG_ROW": [(r, c) for r in range(size) for c in range(r + 1)],
        "UPPER_COL": [(r, c) for c in range(size) for r in range(c)],
        "LOWER_COL": [(r, c) for c in range(size) for r in range(c + 1, size)],
        "UPPER_DIAG_COL": [(r, c) for c in range(size) for r in range(c + 1)],
        "LOWER_DIAG_COL": [(r, c) for c in range(size) for r in range(c, size)],
    }
    assert set(pairs) == set(tsplib_weights.FORMATS)
    for layout, order in pairs.items():
        words = [repr(float(full[pair])) for pair in order]
        breaks = data.draw(st.integers(1, 4))
        rows = "\n".join(" ".join(words[start : start + breaks]) for start in range(0, len(words), breaks))
        header = f"TYPE: TSP\nDIMENSION: {size}\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: {layout}\n"
        instance = read_tsplib(write(f"{header}EDGE_WEIGHT_SECTION\n{rows}\nEOF\n"))
        assert np.array_equal(instance.distances, full), layout


@given(st.sampled_from([TRIANGLE, ROUTING, EXPLICIT]), st.data())
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_file_is_read_or_refused(write, text, data):
    """Cut off anywhere, and with bytes replaced, it is a valid instance or an InstanceFileError, nothing else."""
    content = bytearray(text.encode())
    del content[data.draw(st.integers(0, len(content))) :]
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(0, len(content)))
        content[place : place + data.draw(st.integers(0, 5))] = data.draw(
            st.one_of(st.binary(max_size=3), st.sampled_from([b"-", b"9", b"1e9", b"\n", b" ", b":", b".", b"nan"]))
        )
    instance = read_tsplib(write(text))
    with suppress(InstanceFileError):
        instance = read_tsplib(write(bytes(content)))
    assert instance.distances.shape == (len(instance.distances),) * 2
    assert np.isfinite(instance.distances).all()
    assert (instance.kind == "CVRP") == (instance.demands is not None)
