"""Line charts as SVG: axes, ticks, curves told apart by dashes and markers, and a label at the end of each.

The coordinates are small, so that text stays legible where a chart is as narrow as a phone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from markupsafe import Markup

from coevo.reporting.axes import Axis
from coevo.reporting.elements import element, path, picture

WIDTH, HEIGHT = 400.0, 270.0
_LEFT, _TOP, _BOTTOM = 56.0, 30.0, 42.0
_RIGHT = 14.0
_RIGHT_WITH_AXIS = 52.0
_CHARACTER = 7.4
"""Width of a character of a label, about."""
_LABEL_GAP = 13.0
_MAX_MARKERS = 24

DASHES = ("", "7 3", "2 3", "9 3 2 3", "12 4", "4 2")
MARKERS = ("circle", "square", "diamond", "up", "cross", "plus")

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Series:
    """A curve. A None in `ys` interrupts it.

    Attributes:
        stepped: Whether a value holds until the next one; such a curve has markers where it changes.
        errors: Half the length of each point's error bar; None for a point without one, empty for none at all.
    """

    name: str
    xs: Sequence[float]
    ys: Sequence[float | None]
    stepped: bool = False
    errors: Sequence[float | None] = ()

    def bars(self) -> list[tuple[float, float, float]]:
        """The place and the two ends of every error bar."""
        points = zip(self.xs, self.ys, self.errors, strict=True) if self.errors else ()
        return [(x, y - e, y + e) for x, y, e in points if y is not None and e is not None]

    def parts(self) -> list[list[Point]]:
        """Runs of points without a missing value."""
        runs: list[list[Point]] = [[]]
        for x, y in zip(self.xs, self.ys, strict=True):
            if y is None:
                runs.append([])
            else:
                runs[-1].append((x, y))
        return [run for run in runs if run]


@dataclass(frozen=True, slots=True)
class Chart:
    """What a line chart shows.

    Attributes:
        right: A second reading of the vertical axis: the same pixels in another unit.
        dots: Single points behind the curves; those off the axis become triangles at its edge.
        labelled: Whether curves are named at their end.
    """

    title: str
    description: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    right: Axis | None = None
    dots: tuple[Point, ...] = field(default=())
    labelled: bool = True


@dataclass(frozen=True, slots=True)
class _Frame:
    """The plotting area in pixels, and the way into it."""

    chart: Chart
    right: float

    def x(self, value: float) -> float:
        return self.chart.x.at(value, _LEFT, self.right)

    def y(self, value: float) -> float:
        return self.chart.y.at(value, HEIGHT - _BOTTOM, _TOP)

    def shows(self, value: float) -> bool:
        return self.chart.y.low <= value <= self.chart.y.high


def line_chart(chart: Chart) -> Markup:
    """Draw a chart; the exact values of every curve are in the `data-x` and `data-y` of its group.

    A curve that leaves the vertical axis runs along its edge, without markers there.
    """
    frame = _Frame(chart, WIDTH - _margin(chart))
    curves = [_curve(frame, series, place) for place, series in enumerate(chart.series)]
    parts = [*_grid(frame), *_dots(frame), *curves, *_labels(frame)]
    return picture(chart.title, chart.description, (WIDTH, HEIGHT), parts)


def _margin(chart: Chart) -> float:
    if chart.right is not None:
        return _RIGHT_WITH_AXIS
    names = [len(series.name) for series in chart.series] if chart.labelled else []
    return _RIGHT + max(names, default=0) * _CHARACTER


def _grid(frame: _Frame) -> Iterable[Markup]:
    chart, bottom = frame.chart, HEIGHT - _BOTTOM
    for value in chart.y.ticks(6):
        y = frame.y(value)
        yield element("line", x1=_LEFT, x2=frame.right, y1=y, y2=y, class_="grid")
        yield element("text", chart.y.show(value), x=_LEFT - 8, y=y + 4, text_anchor="end")
    for value in chart.x.ticks(6):
        x = frame.x(value)
        yield element("line", x1=x, x2=x, y1=bottom, y2=bottom + 4, class_="axis")
        yield element("text", chart.x.show(value), x=x, y=bottom + 17, text_anchor="middle")
    for value in chart.right.ticks(6) if chart.right else ():
        y = chart.right.at(value, bottom, _TOP) if chart.right else 0.0
        yield element("line", x1=frame.right, x2=frame.right + 4, y1=y, y2=y, class_="axis")
        yield element("text", chart.right.show(value) if chart.right else "", x=frame.right + 7, y=y + 4)
    yield element("line", x1=_LEFT, x2=frame.right, y1=bottom, y2=bottom, class_="axis")
    yield element("text", chart.y.label, x=2, y=14, class_="label")
    yield element("text", chart.x.label, x=frame.right, y=HEIGHT - 6, text_anchor="end", class_="label")
    if chart.right:
        yield element("text", chart.right.label, x=WIDTH - 2, y=14, text_anchor="end", class_="label")


def _curve(frame: _Frame, series: Series, place: int) -> Markup:
    parts = series.parts()
    lines = [
        element("path", d=path(_pixels(frame, _held(frame, _stairs(part) if series.stepped else part))), **_dash(place))
        for part in parts
        if len(part) > 1
    ]
    points = [point for part in parts for point in part]
    corners = [point for point in (_corners(points) if series.stepped else points) if frame.shows(point[1])]
    every = -(-len(corners) // _MAX_MARKERS) if corners else 1
    marks = [_marker(x, y, place) for x, y in _pixels(frame, corners[::every])]
    return element(
        "g",
        [*_whiskers(frame, series), *lines, *marks],
        class_=f"curve s{place % len(DASHES)}",
        data_series=series.name,
        data_x=" ".join(map(repr, (x for x, _ in points))),
        data_y=" ".join(map(repr, (y for _, y in points))),
    )


def _whiskers(frame: _Frame, series: Series) -> Iterable[Markup]:
    """Error bars, as far as they lie on the axis."""
    for x, low, high in series.bars():
        (left, bottom), (_, top) = _pixels(frame, _held(frame, [(x, low), (x, high)]))
        yield element("line", x1=left, x2=left, y1=bottom, y2=top, class_="whisker", data_low=low, data_high=high)


def _held(frame: _Frame, points: Sequence[Point]) -> list[Point]:
    """The same points, held at the edge where they lie beyond it."""
    low, high = frame.chart.y.low, frame.chart.y.high
    return [(x, min(max(y, low), high)) for x, y in points]


def _dash(place: int) -> dict[str, str]:
    pattern = DASHES[place % len(DASHES)]
    return {"fill": "none"} | ({"stroke-dasharray": pattern} if pattern else {})


def _stairs(points: Sequence[Point]) -> list[Point]:
    corners = [points[0]]
    for (_, before), (x, y) in pairwise(points):
        corners += [(x, before), (x, y)]
    return corners


def _corners(points: Sequence[Point]) -> list[Point]:
    """The points at which a value changes."""
    return [point for place, point in enumerate(points) if place == 0 or point[1] != points[place - 1][1]]


def _pixels(frame: _Frame, points: Iterable[Point]) -> list[Point]:
    return [(frame.x(x), frame.y(y)) for x, y in points]


def _marker(x: float, y: float, place: int, size: float = 3.6) -> Markup:
    # Beyond the sixth curve dashes come again, and with other markers.
    kind = MARKERS[(place + place // len(DASHES)) % len(MARKERS)]
    if kind == "circle":
        return element("circle", cx=x, cy=y, r=size - 0.4, class_="mark")
    if kind in ("cross", "plus"):
        a, b = (size, size) if kind == "cross" else (size + 1, 0.0)
        strokes = f"M{x - a:.1f},{y - b:.1f}L{x + a:.1f},{y + b:.1f}M{x - b:.1f},{y + a:.1f}L{x + b:.1f},{y - a:.1f}"
        return element("path", d=strokes, fill="none")
    corners = {
        "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
        "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
        "up": ((0, -1.3), (1.2, 0.9), (-1.2, 0.9)),
    }[kind]
    return element("path", d=path((x + size * a, y + size * b) for a, b in corners) + "Z", class_="mark")


def _dots(frame: _Frame) -> Iterable[Markup]:
    """Points as one path of round dots; those off the axis as triangles that point outwards."""
    chart = frame.chart
    inside = {(f"{frame.x(x):.1f}", f"{frame.y(y):.1f}") for x, y in chart.dots if frame.shows(y)}
    if inside:
        yield element("path", d="".join(f"M{x},{y}h0" for x, y in sorted(inside)), class_="dots")
    above = [x for x, y in chart.dots if y > chart.y.high]
    below = [x for x, y in chart.dots if y < chart.y.low]
    for edge, tip, xs in ((_TOP, -5.0, above), (HEIGHT - _BOTTOM, 5.0, below)):
        places = sorted({round(frame.x(x), 1) for x in xs})
        outlines = [path(((x - 2.5, edge), (x, edge + tip), (x + 2.5, edge))) + "Z" for x in places]
        if outlines:
            yield element("path", d="".join(outlines), class_="off")


def _labels(frame: _Frame) -> Iterable[Markup]:
    """Names at the ends of the curves; where several end side by side they are moved apart."""
    if not frame.chart.labelled or frame.chart.right is not None:
        return
    ends: dict[float, list[tuple[float, int, str]]] = {}
    for place, series in enumerate(frame.chart.series):
        if parts := series.parts():
            x, y = parts[-1][-1]
            ends.setdefault(frame.x(x), []).append((frame.y(y), place, series.name))
    for x, names in ends.items():
        names.sort()
        positions = within(spread([y for y, _, _ in names], _LABEL_GAP), _TOP, HEIGHT - _BOTTOM)
        for y, (_, place, name) in zip(positions, names, strict=True):
            yield element("text", name, x=x + 8, y=y + 4, class_=f"name s{place % len(DASHES)}")


def within(positions: Sequence[float], low: float, high: float) -> list[float]:
    """Ascending positions shifted together so that they lie between two bounds, or begin at the first of them."""
    shift = max(low - positions[0], min(0.0, high - positions[-1]))
    return [position + shift for position in positions]


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """Ascending positions moved apart to at least `gap`, each group of neighbours around its own middle."""
    groups: list[list[float]] = []
    for position in wanted:
        groups.append([position])
        while len(groups) > 1 and _start(groups[-1], gap) < _start(groups[-2], gap) + gap * len(groups[-2]):
            last = groups.pop()
            groups[-1] += last
    return [_start(group, gap) + gap * place for group in groups for place in range(len(group))]


def _start(group: Sequence[float], gap: float) -> float:
    return sum(group) / len(group) - gap * (len(group) - 1) / 2
