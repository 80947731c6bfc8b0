"""Drawings of tours and routes, read back."""

from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

from coevo.errors import ContentError
from coevo.interfaces import Instance
from coevo.problemkit.route_drawing import draw_routes, draw_tour
from coevo.problemkit.routes import join_routes

SVG = "{http://www.w3.org/2000/svg}"
SQUARE = Instance("made", 0, {"coordinates": np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])})


def around(count):
    """A depot and as many customers on a circle around it."""
    angles = np.linspace(0, 2 * np.pi, count, endpoint=False)
    return Instance("wheel", 0, {"coordinates": np.vstack([[0, 0], np.column_stack([np.cos(angles), np.sin(angles)])])})


@pytest.mark.parametrize("tour", [[1, 2, 3, 0], [1, 2, 3, 0, 1]])
def test_a_tour_is_one_closed_line_from_its_first_node(tour):
    """Corners in the order of the visits, a dot per node, a square where it starts; closed or open is the same."""
    root = ElementTree.fromstring(draw_tour(SQUARE, np.array(tour), 4.0))
    (line,) = root.iter(f"{SVG}polygon")
    corners = line.get("points").split()
    assert corners[:4] == ["16.0,16.0", "384.0,16.0", "384.0,384.0", "16.0,384.0"]
    assert len(list(root.iter(f"{SVG}circle"))) == 4
    (square,) = root.iter(f"{SVG}rect")
    assert (square.get("x"), square.get("y")) == ("11.0", "11.0")
    assert root[0].text == "made: 4 nodes, length 4.0000"


def test_routes_are_closed_at_the_depot_and_neighbours_differ_in_their_dashes():
    """One line each, in whatever order they are driven."""
    routes = [[3], [1], [4, 5], [2]]
    root = ElementTree.fromstring(draw_routes(around(5), join_routes(routes), 9.5))
    lines = list(root.iter(f"{SVG}polygon"))
    assert sorted(len(line.get("points").split()) for line in lines) == [2, 2, 2, 3]
    assert len({line.get("points").split()[0] for line in lines}) == 1
    assert all(a.get("stroke-dasharray") != b.get("stroke-dasharray") for a, b in pairwise(lines))
    assert root[0].text == "wheel: 5 customers, 4 routes, length 9.5000"


def test_many_routes_take_turns_with_the_patterns():
    """More routes than patterns are no error."""
    root = ElementTree.fromstring(draw_routes(around(20), join_routes([[node] for node in range(1, 21)]), 1.0))
    patterns = [line.get("stroke-dasharray") for line in root.iter(f"{SVG}polygon")]
    assert len(patterns) == 20
    assert len(set(patterns)) == 7


def test_without_coordinates_there_is_no_drawing():
    """It says which instance."""
    bare = Instance("bare", 0, {"distance_matrix": np.zeros((2, 2))})
    for draw, solution in ((draw_tour, [0, 1]), (draw_routes, [0, 1, 0])):
        with pytest.raises(ContentError, match="expected coordinates to draw bare, its file has none"):
            draw(bare, np.array(solution), 0.0)
