"""Tour and route files, good and bad."""

from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coevo.errors import InstanceFileError
from coevo.problemkit.solution_files import Routes, read_routes, read_tour

TOUR = """\
NAME : made.opt.tour
COMMENT : of length 12
TYPE : TOUR
DIMENSION : 4
TOUR_SECTION
1
3 2
4
-1
EOF
"""

ROUTES = """\
Route #1: 3 1
Route #2: 2
Cost 784
"""


@pytest.fixture
def write(tmp_path):
    """Writes text or bytes to a file and returns its path."""

    def to_file(content):
        (tmp_path / "made.txt").write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path / "made.txt"

    return to_file


@pytest.mark.parametrize(
    "text",
    [TOUR, TOUR.replace("EOF\n", ""), TOUR.replace("DIMENSION : 4\n", ""), TOUR.replace("-1", "-1\n-1"),
     TOUR.replace("\n", "\r\n"), TOUR.replace("1\n3 2\n4\n", "1 3 2 4 ")],
)  # fmt: skip
def test_a_tour_is_read(write, text):
    """Node ids count from 0; line ends mean nothing; DIMENSION and EOF may be missing."""
    tour = read_tour(write(text))
    assert tour.tolist() == [0, 2, 1, 3]
    assert tour.dtype.name == "int64"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (TOUR.replace(": TOUR", ": TSP"), 3, "expected TYPE to be one of TOUR, got 'TSP'"),
        (TOUR[: TOUR.index("TOUR_SECTION")], 4, "expected TOUR_SECTION, got the end of the file"),
        (TOUR.replace("-1\n", ""), 8, "expected -1 at the end of the tour, got the end of the section"),
        (TOUR.replace("3 2", "3 3"), 7, "expected each node id from 1 once, got 3 again, after line 7"),
        (TOUR.replace("3 2", "3 0"), 7, "expected each node id from 1 once, got 0"),
        (TOUR.replace("3 2", "3 x"), 7, "expected a node id, got 'x'"),
        (TOUR.replace("3 2", "3 2.5"), 7, "expected a node id that is whole, got '2.5'"),
        (TOUR.replace("3 2", "3 5"), 9, "expected a tour of the nodes 1 to 4, got 4 up to 5"),
        (TOUR.replace(": 4", ": 5"), 9, "expected a tour of the nodes 1 to 5, got 4 up to 4"),
        (TOUR.replace(": 4", ": four"), 4, "expected DIMENSION: a number of nodes, got 'four'"),
        (TOUR.replace("-1", "-1 1 2"), 9, "expected one tour, got '1' after its end"),
    ],
)
def test_a_bad_tour_is_told_with_its_line(write, text, line, message):
    """What was expected and what came."""
    with pytest.raises(InstanceFileError, match=f", line {line}: {message}"):
        read_tour(write(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ROUTES, Routes(((3, 1), (2,)), 784.0, 3)),
        (ROUTES.replace("\n", "\r\n\r\n"), Routes(((3, 1), (2,)), 784.0, 5)),
        ("route #1: 3 1 \nroute 2 : 2\ncost: 7.5", Routes(((3, 1), (2,)), 7.5, 3)),
        ("Cost 0\nRoute #1:", Routes(((),), 0.0, 1)),
        ("Route #1: 1\n", Routes(((1,),))),
    ],
)
def test_routes_are_read(write, text, expected):
    """Customers of each route, with the cost and its line, where there is one."""
    assert read_routes(write(text)) == expected


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("Cost 7\n", None, "expected lines 'Route #1: …', got none"),
        ("", None, "expected text, got an empty file"),
        (ROUTES.replace("Route #2", "Path #2"), 2, "expected 'Route #1: …' or 'Cost …', got 'Path #2: 2'"),
        (ROUTES.replace("3 1", "3 2"), 2, "expected each node id from 1 once, got 2 again, after line 1"),
        (ROUTES.replace("3 1", "3 0"), 1, "expected each node id from 1 once, got 0"),
        (ROUTES.replace("3 1", "3 -1"), 1, "expected each node id from 1 once, got -1"),
        (ROUTES.replace("3 1", "3 one"), 1, "expected a customer, got 'one'"),
        (ROUTES.replace("784", "cheap"), 3, "expected a cost, got 'cheap'"),
        (ROUTES + "Cost 785\n", 4, "expected one Cost, got another after line 3"),
    ],
)
def test_bad_routes_are_told_with_their_line(write, text, line, message):
    """What was expected and what came."""
    where = "" if line is None else f", line {line}"
    with pytest.raises(InstanceFileError, match=f"made.txt{where}: {message}"):
        read_routes(write(text))


@given(st.sampled_from([(TOUR, read_tour), (ROUTES, read_routes)]), st.data())
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_file_is_read_or_refused(write, case, data):
    """Cut off anywhere, and with some bytes replaced, nothing but InstanceFileError is raised."""
    text, read = case
    content = bytearray(text.encode())
    del content[data.draw(st.integers(0, len(content))) :]
    place = data.draw(st.integers(0, len(content)))
    content[place : place + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=3))
    nodes = []
    with suppress(InstanceFileError):
        found = read(write(bytes(content)))
        nodes = found.tolist() if read is read_tour else [node for route in found.routes for node in route]
    assert len(set(nodes)) == len(nodes)
