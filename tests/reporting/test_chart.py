import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.reporting.axes import Axis
from coevo.reporting.bars import Bars, bar_chart
from coevo.reporting.chart import HEIGHT, WIDTH, Chart, Series, line_chart, spread, within

X, Y = Axis("n", 0, 10, integer=True), Axis("cost", 0.0, 1.0)


def drawn(*series, **fields):
    """A chart as a tree; it has to be well-formed."""
    return ElementTree.fromstring(line_chart(Chart("T", "D", X, Y, series, **fields)))


def scale(tree):
    """From pixels to values, read off two ticks of the vertical axis: (value at pixel 0, value per pixel)."""
    grid = [float(line.get("y1")) for line in tree.iter("line") if line.get("class") == "grid"]
    ticks = (text for text in tree.iter("text") if text.get("text-anchor") == "end" and text.get("class") is None)
    labels = [float(text.text) for text in ticks]
    slope = (labels[-1] - labels[0]) / (grid[-1] - grid[0])
    return labels[0] - slope * grid[0], slope


def test_a_curve_is_where_its_values_are():
    """The pixels of a curve, read with the axis's own ticks, are its values; and these are in the drawing exactly."""
    ys = [0.1, 0.123456789012345, 0.9]
    tree = drawn(Series("a", [0, 5, 10], ys))
    group = next(g for g in tree.iter("g") if g.get("data-series") == "a")
    assert [float(value) for value in group.get("data-y").split()] == ys
    zero, slope = scale(tree)
    pixels = [float(pair.split(",")[1]) for pair in group.find("path").get("d")[1:].split("L")]
    assert [zero + slope * y for y in pixels] == pytest.approx(ys, abs=0.005)


def test_a_stepped_curve_holds_its_value():
    """Between two points a stepped curve goes across and then down."""
    group = next(g for g in drawn(Series("a", [0, 10], [1.0, 0.0], stepped=True)).iter("g"))
    points = [tuple(map(float, pair.split(","))) for pair in group.find("path").get("d")[1:].split("L")]
    assert [x for x, _ in points] == [points[0][0], points[2][0], points[2][0]]
    assert points[0][1] == points[1][1] < points[2][1]


def test_a_missing_value_interrupts_a_curve():
    """A None leaves a hole: two lines, four points."""
    group = next(g for g in drawn(Series("a", [0, 1, 2, 3, 4], [0.1, 0.2, None, 0.3, 0.4])).iter("g"))
    lines = [path.get("d") for path in group.iter("path") if path.get("fill") == "none"]
    assert [len(line.split("L")) for line in lines] == [2, 2]
    assert len(group.get("data-y").split()) == 4


def test_curves_differ_without_colour():
    """No two of six curves share both dashes and marker, and each is named at its end."""
    tree = drawn(*(Series(f"s{n}", [0, 10], [n / 10, n / 10]) for n in range(6)))
    looks = []
    for group in tree.iter("g"):
        line, mark = group[0], group[1]
        looks.append((line.get("stroke-dasharray"), mark.tag, re.sub(r"[\d.,-]+", "", mark.get("d", ""))))
    assert len(looks) == 6
    assert len({dashes for dashes, *_ in looks}) == 6
    names = [text.text for text in tree.iter("text") if text.get("class", "").startswith("name")]
    assert sorted(names) == [f"s{n}" for n in range(6)]


def test_points_off_the_axis_are_marked_at_its_edge():
    """A dot on the axis is a dot; those beyond it are triangles above and below, one for each place."""
    tree = drawn(Series("a", [0, 1], [0.5, 0.5]), dots=((1, 0.5), (2, 9.0), (2, 8.0), (3, -4.0)))
    dots = next(path for path in tree.iter("path") if path.get("class") == "dots")
    off = [path.get("d").count("M") for path in tree.iter("path") if path.get("class") == "off"]
    assert dots.get("d").count("M") == 1
    assert off == [1, 1]


def test_a_chart_has_words_and_scales():
    """Role, title and description are there, and the size is a view box, so that a chart is as wide as its place."""
    tree = drawn(Series("a", [0, 1], [0.5, 0.5]))
    assert tree.get("role") == "img"
    assert (tree.find("title").text, tree.find("desc").text) == ("T", "D")
    assert tree.get("viewBox") == f"0 0 {WIDTH:g} {HEIGHT:g}"
    assert tree.get("width") is None


def test_labels_are_escaped_and_seen(hostile):
    """Hostile names stay text: the drawing is well-formed and has no element that is not a chart's."""
    chart = Chart(hostile, hostile, Axis(hostile, 0, 1), Y, (Series(hostile, [0, 1], [0.5, 0.5]),))
    tree = ElementTree.fromstring(line_chart(chart))
    assert {e.tag for e in tree.iter()} <= {"svg", "title", "desc", "line", "text", "g", "path", "circle"}
    unseen = {"\x00": "\\x00", "\u202e": "\\u202e", "\ud800": "\\ud800"}
    assert tree.find("title").text == hostile.translate(str.maketrans(unseen))


def test_a_chart_without_data_is_a_frame():
    """A curve without a value draws nothing and breaks nothing."""
    assert not list(next(drawn(Series("a", [0], [None])).iter("g")))


@given(st.lists(st.floats(0, 300), max_size=12).map(sorted), st.floats(1, 20))
def test_labels_are_moved_apart_no_more_than_needed(wanted, gap):
    """Order and mean stay, neighbours are at least a gap apart, and positions that fit are left alone."""
    placed = spread(wanted, gap)
    assert all(b - a >= gap - 1e-6 for a, b in pairwise(placed))
    assert sum(placed) == pytest.approx(sum(wanted), abs=1e-6)
    if all(b - a >= gap for a, b in pairwise(wanted)):
        assert placed == pytest.approx(wanted)


def test_labels_stay_in_the_frame():
    """Positions are shifted together, and the first bound wins where not all fit."""
    assert within([-10.0, 5.0], 0.0, 100.0) == [0.0, 15.0]
    assert within([90.0, 105.0], 0.0, 100.0) == [85.0, 100.0]
    assert within([50.0], 0.0, 100.0) == [50.0]


def test_bars_have_the_sizes_of_their_parts():
    """Every part is as wide as its value on a common scale, carries it exactly, and the sum stands at the end."""
    rows = {"e1": {"new": 30, "failed": 10}, "m1": {"new": 20}}
    tree = ElementTree.fromstring(bar_chart(Bars("T", "D", ("new", "failed"), rows)))
    parts = [g for g in tree.iter("g") if g.get("data-part")]
    assert {(g.get("data-row"), g.get("data-part")): int(g.get("data-value")) for g in parts} == {
        ("e1", "new"): 30, ("e1", "failed"): 10, ("m1", "new"): 20,
    }  # fmt: skip
    widths = [float(g.find("rect").get("width")) / int(g.get("data-value")) for g in parts]
    assert widths == pytest.approx([widths[0]] * 3, rel=0.01)
    texts = [text.text for text in tree.iter("text")]
    assert {"e1", "m1", "40", "20", "new", "failed"} <= set(texts)


def test_a_curve_beyond_the_axis_runs_along_its_edge():
    """Its exact values stay in the drawing; the line is held at the edge and has no marker there."""
    group = next(g for g in drawn(Series("a", [0, 5, 10], [7.0, 0.5, 0.25], stepped=True)).iter("g"))
    pixels = [float(pair.split(",")[1]) for pair in group.find("path").get("d")[1:].split("L")]
    top = min(float(line.get("y1")) for line in drawn(Series("a", [0], [0.5])).iter("line"))
    assert min(pixels) == pixels[0] == pytest.approx(top)
    assert len(list(group.iter("circle"))) == 2
    assert group.get("data-y") == "7.0 0.5 0.25"
