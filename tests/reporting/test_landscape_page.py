"""What a landscape's page says of its plane."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from coevo.experiments.landscape import by_chance
from coevo.reporting.heat_map import HeatMap, Scale, heat_map
from coevo.reporting.text import number


@settings(max_examples=20)
@given(st.integers(1, 8), st.floats(1e-4, 10.0))
def test_labels_stand_at_the_middle_of_their_cells(half, reach):
    """Of the first, the middle and the last column, and of the same rows."""
    offsets = [reach * place / half for place in range(-half, half + 1)]
    side = len(offsets)
    values = {(column, row): 0.5 for column in range(side) for row in range(side)}
    drawn = str(heat_map(HeatMap("t", "d", offsets, values, frozenset(), Scale(0.0, 1.0), ("a", "b"))))
    cells = {(int(c), int(r)): (float(x), float(y)) for c, r, x, y in found(drawn)}
    width = cells[1, 0][0] - cells[0, 0][0]
    middles = [cells[place, 0][0] + width / 2 for place in (0, half, side - 1)]
    heights = [cells[0, place][1] + width / 2 for place in (0, half, side - 1)]
    wanted = [number(offsets[place], 2) for place in (0, half, side - 1)]
    texts = re.findall(r"<text ([^>]*)>([^<]*)</text>", drawn)
    below = [(each, text) for each, text in texts if attribute(each, "text-anchor") == "middle"]
    assert [text for _, text in below] == wanted
    assert all(abs(float(attribute(each, "x")) - x) < 0.2 for (each, _), x in zip(below, middles, strict=True))
    beside = [each for each, text in texts if attribute(each, "text-anchor") == "end" and text in wanted][:3]
    assert all(abs(float(attribute(each, "y")) - 4 - y) < 0.2 for each, y in zip(beside, heights, strict=True))


def found(drawn):
    """Column, row, left and upper edge of every cell."""
    for each in re.findall(r'<rect ([^>]*class="cell"[^>]*)>', drawn):
        yield tuple(attribute(each, name) for name in ("data-column", "data-row", "x", "y"))


def attribute(text, name):
    """The value of an attribute, None where there is none."""
    match = re.search(rf'(?:^| ){name}="([^"]*)"', text)
    return match and match[1]


def test_few_points_differ_by_chance_in_fractions():
    """One in twenty, in as many digits as it takes."""
    assert [by_chance(points) for points in (8, 120, 960)] == ["0.4", "6", "48"]
