"""Heat maps as SVG: a square of cells, coloured by value, hatched where the value says nothing, with a key.

Colours are the same by day and by night: what a cell shows must not depend on the reader's scheme.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from coevo.reporting.elements import element, picture
from coevo.reporting.text import number

WIDTH, HEIGHT = 400.0, 420.0
_LEFT, _TOP, _SIDE = 62.0, 24.0, 318.0
_KEY_TOP, _KEY_HEIGHT, _KEY_CELLS = 388.0, 10.0, 41

_BLUE, _WHITE, _RED, _PURPLE, _NONE = (33, 102, 172), (247, 247, 247), (178, 24, 43), (84, 39, 143), (190, 190, 190)

Colour = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Scale:
    """Values to colours.

    Attributes:
        low: Least value.
        high: Greatest value.
        middle: The value that is white: blue below and red above; None for one colour, white at `low`.
    """

    low: float
    high: float
    middle: float | None = None

    def colour(self, value: float | None) -> str:
        """The colour of a value; grey for none."""
        if value is None:
            return _written(_NONE)
        if self.middle is None:
            span = self.high - self.low
            return _written(_mixed(_WHITE, _PURPLE, (value - self.low) / span if span > 0 else 0.0))
        reach = max(self.high - self.middle, self.middle - self.low)
        share = (value - self.middle) / reach if reach > 0 else 0.0
        return _written(_mixed(_WHITE, _RED if share > 0 else _BLUE, abs(share)))


@dataclass(frozen=True, slots=True)
class HeatMap:
    """What a heat map shows.

    Attributes:
        offsets: Of the columns and of the rows, ascending; the middle one is the centre.
        values: (column, row) -> value, None where there is none; a missing cell is not drawn.
        hatched: Cells that are hatched.
        labels: What the two axes measure.
    """

    title: str
    description: str
    offsets: Sequence[float]
    values: Mapping[tuple[int, int], float | None]
    hatched: frozenset[tuple[int, int]]
    scale: Scale
    labels: tuple[str, str]


def heat_map(chart: HeatMap) -> Markup:
    """Draw a heat map; row 0 is at the bottom. The exact value of a cell is its `data-value`."""
    drawn = [*_cells(chart), _hatch(chart), _centre(chart), *_axes(chart), *_key(chart.scale)]
    return picture(chart.title, chart.description, (WIDTH, HEIGHT), drawn)


def _corner(chart: HeatMap, column: int, row: int) -> tuple[float, float, float]:
    """Left and upper edge of a cell, and its side."""
    side = _SIDE / len(chart.offsets)
    return _LEFT + column * side, _TOP + (len(chart.offsets) - 1 - row) * side, side


def _cells(chart: HeatMap) -> Iterable[Markup]:
    for (column, row), value in chart.values.items():
        x, y, side = _corner(chart, column, row)
        shown = {} if value is None else {"data_value": value}
        place = {"x": x, "y": y, "width": side + 0.3, "height": side + 0.3}
        yield element(
            "rect", **place, fill=chart.scale.colour(value), class_="cell", data_column=column, data_row=row, **shown
        )


def _hatch(chart: HeatMap) -> Markup:
    strokes = []
    for column, row in sorted(chart.hatched & set(chart.values)):
        x, y, side = _corner(chart, column, row)
        for share in (0.5, 1.0) if side > 6 else (1.0,):
            strokes.append(f"M{x:.1f},{y + share * side:.1f}L{x + share * side:.1f},{y:.1f}")
    return element("path", d="".join(strokes) or "M0,0", stroke="#55585c", stroke_width=0.7, fill="none")


def _centre(chart: HeatMap) -> Markup:
    middle = len(chart.offsets) // 2
    x, y, side = _corner(chart, middle, middle)
    return element("rect", x=x, y=y, width=side, height=side, fill="none", stroke="#000000", stroke_width=1.6)


def _axes(chart: HeatMap) -> Iterable[Markup]:
    last = len(chart.offsets) - 1
    for place in (0, last // 2, last):
        value = number(chart.offsets[place], 2)
        x, _, side = _corner(chart, place, 0)
        _, y, _ = _corner(chart, 0, place)
        yield element("text", value, x=x + side / 2, y=_TOP + _SIDE + 15, text_anchor="middle")
        yield element("text", value, x=_LEFT - 6, y=y + side / 2 + 4, text_anchor="end")
    yield element("text", chart.labels[0], x=_LEFT + _SIDE, y=_TOP + _SIDE + 30, text_anchor="end", class_="label")
    yield element("text", chart.labels[1], x=2, y=14, class_="label")


def _key(scale: Scale) -> Iterable[Markup]:
    """The colours from the least value to the greatest, with what lies between them."""
    width = _SIDE / _KEY_CELLS
    for place in range(_KEY_CELLS):
        value = scale.low + (scale.high - scale.low) * place / (_KEY_CELLS - 1)
        x = _LEFT + place * width
        yield element(
            "rect", x=x, y=_KEY_TOP, width=width + 0.3, height=_KEY_HEIGHT, fill=scale.colour(value), class_="key"
        )
    for value, anchor, x in ((scale.low, "start", _LEFT), (scale.high, "end", _LEFT + _SIDE)):
        yield element("text", number(value, 3), x=x, y=_KEY_TOP + 24, text_anchor=anchor)


def _mixed(one: Colour, other: Colour, share: float) -> Colour:
    share = min(max(share, 0.0), 1.0)
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue


def _written(colour: Colour) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)
