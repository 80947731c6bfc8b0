"""Drawings are well-formed XML that stays inside its frame and cannot carry markup."""

from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from coevo.problemkit import svg

SVG = "{http://www.w3.org/2000/svg}"
POINTS = hnp.arrays(np.float64, st.tuples(st.integers(1, 8), st.just(2)), elements=st.floats(-1e6, 1e6))


@given(POINTS)
def test_fit_keeps_points_between_the_margins(points):
    """Every point lands inside the margins, whatever its scale; a single point too."""
    pixels = svg.fit(points, size=200, margin=10)
    assert pixels.shape == points.shape
    assert pixels.min() >= 10 - 1e-6
    assert pixels.max() <= 190 + 1e-6


def test_fit_lets_y_point_up_and_keeps_proportions():
    """The lowest point is drawn lowest, and both axes have one scale."""
    pixels = svg.fit(np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]]), size=120, margin=10)
    assert pixels.tolist() == [[10, 110], [110, 110], [10, 60]]


def test_document_is_xml_and_escapes_its_title():
    """Markup in a title is text."""
    elements = [svg.polygon(np.array([[0.0, 0.0], [9.0, 9.0]])), svg.dot(1, 2), svg.square(3, 4)]
    root = ElementTree.fromstring(svg.document(elements, width=10, height=20, title="<script>x</script> & y"))
    assert [child.tag for child in root] == [f"{SVG}{tag}" for tag in ("title", "polygon", "circle", "rect")]
    assert root[0].text == "<script>x</script> & y"
    assert root.get("viewBox") == "0 0 10 20"


@pytest.mark.parametrize("element", [svg.polygon(np.zeros((2, 2))), svg.dot(0, 0), svg.square(0, 0)])
def test_elements_take_the_colour_of_the_page(element):
    """No colour of their own, so that a drawing reads on white, on black and in print."""
    colours = {value for key, value in ElementTree.fromstring(element).attrib.items() if key in ("fill", "stroke")}
    assert colours <= {"none", "currentColor"}
