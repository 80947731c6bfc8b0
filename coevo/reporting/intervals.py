"""Dots with intervals in rows, on either side of a line at nought: who is better, and how sure that is."""

from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from coevo.reporting.axes import Axis, axis_for
from coevo.reporting.elements import element, picture
from coevo.reporting.text import percent

WIDTH = 400.0
_ROW, _TOP, _BOTTOM, _RIGHT = 24.0, 26.0, 40.0, 12.0
_CHARACTER = 6.6
_MOST_LABEL = 150.0


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its interval; both are fractions, positive is better. An interval of None is unknown."""

    label: str
    value: float
    low: float | None
    high: float | None


def interval_chart(title: str, description: str, label: str, intervals: Iterable[Interval]) -> Markup:
    """Draw one row per value.

    Args:
        title: What it is.
        description: What it shows, in words.
        label: What the axis measures.
        intervals: At least one.
    """
    rows = list(intervals)
    left = min(_MOST_LABEL, 10 + _CHARACTER * max(len(row.label) for row in rows))
    values = [0.0, *(v for row in rows for v in (row.value, row.low, row.high) if v is not None)]
    axis = axis_for(label, values, show=lambda value: percent(value, 1))
    bottom = _TOP + len(rows) * _ROW
    drawn = [*_frame(axis, left, bottom)]
    for place, row in enumerate(rows):
        drawn.append(_row(axis, row, left, _TOP + (place + 0.5) * _ROW))
    return picture(title, description, (WIDTH, bottom + _BOTTOM), drawn)


def _frame(axis: Axis, left: float, bottom: float) -> Iterable[Markup]:
    end = WIDTH - _RIGHT
    for value in axis.ticks(4):
        x = axis.at(value, left, end)
        yield element("line", x1=x, x2=x, y1=_TOP, y2=bottom, class_="grid")
        yield element("text", axis.show(value), x=x, y=bottom + 16, text_anchor="middle")
    nought = axis.at(0.0, left, end)
    yield element("line", x1=nought, x2=nought, y1=_TOP - 6, y2=bottom, class_="axis")
    yield element("text", "← baseline better", x=nought - 6, y=14, text_anchor="end", class_="label")
    yield element("text", "arm better →", x=nought + 6, y=14, class_="label")
    yield element("text", axis.label, x=end, y=bottom + 33, text_anchor="end", class_="label")


def _row(axis: Axis, row: Interval, left: float, y: float) -> Markup:
    end = WIDTH - _RIGHT
    parts = [element("text", row.label, x=left - 8, y=y + 4, text_anchor="end", class_="row")]
    if row.low is not None and row.high is not None:
        low, high = axis.at(row.low, left, end), axis.at(row.high, left, end)
        parts.append(element("line", x1=low, x2=high, y1=y, y2=y, class_="whisker"))
        parts += [element("line", x1=x, x2=x, y1=y - 4, y2=y + 4, class_="whisker") for x in (low, high)]
    parts.append(element("circle", cx=axis.at(row.value, left, end), cy=y, r=4, class_="point"))
    return element("g", parts, data_row=row.label, data_value=row.value)
