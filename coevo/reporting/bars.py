"""Stacked horizontal bars as SVG, told apart by their fillings and by numbers, not by colour."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from coevo.reporting.elements import element, path, picture

WIDTH = 400.0
_LEFT, _ROW, _BAR, _TOP = 44.0, 30.0, 20.0, 8.0
_KEY_ROW, _KEY_COLUMNS = 19.0, 2
_CHARACTER = 7.0


@dataclass(frozen=True, slots=True)
class Bars:
    """Rows of parts that add up.

    Attributes:
        parts: What the parts are called, in order; each has a filling of its own, and the key leaves out unused ones.
        rows: For each row the size of each part, by name; missing ones are 0.
    """

    title: str
    description: str
    parts: tuple[str, ...]
    rows: Mapping[str, Mapping[str, int]]


def bar_chart(bars: Bars) -> Markup:
    """Draw stacked bars on one scale, with a key beneath."""
    longest = max((sum(row.values()) for row in bars.rows.values()), default=0) or 1
    scale = (WIDTH - _LEFT - 44.0) / longest
    drawn: list[Markup] = []
    for place, (name, row) in enumerate(bars.rows.items()):
        drawn += _row(bars.parts, name, row, _TOP + place * _ROW, scale)
    below = _TOP + len(bars.rows) * _ROW + 6
    used = [place for place, part in enumerate(bars.parts) if any(row.get(part) for row in bars.rows.values())]
    keys = list(_key(bars.parts, used, below))
    height = below + -(-len(used) // _KEY_COLUMNS) * _KEY_ROW
    return picture(bars.title, bars.description, (WIDTH, height), [*drawn, *keys])


def _row(parts: tuple[str, ...], name: str, row: Mapping[str, int], y: float, scale: float) -> Iterable[Markup]:
    yield element("text", name, x=_LEFT - 8, y=y + _BAR - 5, text_anchor="end")
    x = _LEFT
    for place, part in enumerate(parts):
        size = row.get(part, 0)
        if size:
            yield _filled(place, (x, y, size * scale, _BAR), data_row=name, data_part=part, data_value=size)
            if len(str(size)) * _CHARACTER + 6 < size * scale:
                middle, look = x + size * scale / 2, f"in p{place}"
                yield element("text", str(size), x=middle, y=y + _BAR - 5.5, text_anchor="middle", class_=look)
        x += size * scale
    yield element("text", str(sum(row.values())), x=x + 6, y=y + _BAR - 5)


def _key(parts: tuple[str, ...], used: Sequence[int], top: float) -> Iterable[Markup]:
    for number, place in enumerate(used):
        x = _LEFT + (number % _KEY_COLUMNS) * (WIDTH - _LEFT) / _KEY_COLUMNS
        y = top + (number // _KEY_COLUMNS) * _KEY_ROW
        yield _filled(place, (x, y, 22.0, 12.0))
        yield element("text", parts[place], x=x + 29, y=y + 10.5)


def _filled(place: int, box: tuple[float, float, float, float], **data: str | int) -> Markup:
    """A rectangle with the filling of a part: solid, hatched, crossed, dotted or empty."""
    x, y, width, height = box
    frame = element("rect", x=x, y=y, width=width, height=height, class_=f"bar p{place}")
    return element("g", [frame, *_lines(place, box)], **data)


def _lines(place: int, box: tuple[float, float, float, float]) -> Iterable[Markup]:
    x, y, width, height = box
    if place in (1, 2):
        strokes = _slanted(x, y, width, height, up=True)
        strokes += _slanted(x, y, width, height, up=False) if place == 2 else []
        if strokes:
            yield element("path", d="".join(map(path, strokes)), class_="hatch")
    if place == 3 and width > 6:
        middle = y + height / 2
        yield element("line", x1=x + 4, x2=x + width - 3, y1=middle, y2=middle, class_="dotted")


def _slanted(x: float, y: float, width: float, height: float, *, up: bool) -> list[list[tuple[float, float]]]:
    """Lines at 45° across a box, cut at its edges."""
    lines = []
    for number in range(1, int((width + height) // 6) + 1):
        offset = number * 6.0
        start, end = max(0.0, offset - height), min(width, offset)
        rise = [(x + at, y + offset - at if up else y + height - (offset - at)) for at in (start, end)]
        if end > start:
            lines.append(rise)
    return lines
