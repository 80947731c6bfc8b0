"""Scales and ticks of a chart's axis: pure arithmetic."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from coevo.reporting.text import number


@dataclass(frozen=True, slots=True)
class Axis:
    """A linear axis.

    Attributes:
        label: What it measures, with unit and direction.
        low: Value at its beginning.
        high: Value at its end; another than `low`, which may be the greater.
        integer: Whether only whole numbers have ticks.
        show: How a tick is written.
    """

    label: str
    low: float
    high: float
    integer: bool = False
    show: Callable[[float], str] = number

    def at(self, value: float, start: float, end: float) -> float:
        """Where a value lies between two pixel positions; beyond them if it is off the axis."""
        return start + (value - self.low) / (self.high - self.low) * (end - start)

    def ticks(self, most: int = 6) -> list[float]:
        """Round values on the axis, at most so many, no two of which are written alike."""
        low, high = min(self.low, self.high), max(self.low, self.high)
        for count in range(most, 1, -1):
            found = ticks(low, high, count, integer=self.integer)
            if found and len(set(map(self.show, found))) == len(found):
                return found
        # The axis is narrower than what its numbers can tell apart: the first of each that is written alike.
        finest = ticks(low, high, most, integer=self.integer)
        return sorted({self.show(value): value for value in reversed(finest)}.values())


def axis_for(
    label: str,
    values: Iterable[float],
    *,
    floor: float | None = None,
    integer: bool = False,
    show: Callable[[float], str] = number,
) -> Axis:
    """An axis on which all values lie, with a little air; `floor` is a value that it reaches down to at least.

    Equal values get an axis around them, no values one from 0 to 1.
    """
    finite = [value for value in values if math.isfinite(value)]
    if floor is not None:
        finite.append(floor)
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    if high <= low:
        air = abs(low) * 0.05 or 0.5
        return Axis(label, low if floor is not None else low - air, high + air, integer, show)
    air = 0.0 if integer else 0.04 * (high - low)
    return Axis(label, low if floor is not None and low >= floor else low - air, high + air, integer, show)


def ticks(low: float, high: float, most: int = 6, *, integer: bool = False) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten in [low, high]: as many as possible, at most `most`.

    Args:
        low: Least value.
        high: Greatest value; greater than `low`.
        most: At least 2.
        integer: Whether steps below 1 are out of the question.
    """
    step = _round_step((high - low) / most)
    if integer:
        step = max(1.0, step)
    while (last := math.floor(high / step + 1e-9)) - (first := math.ceil(low / step - 1e-9)) + 1 > most:
        step = _next_step(step)
    return [place * step for place in range(first, last + 1)]


def _round_step(rough: float) -> float:
    """The least step of the form {1, 2, 5} · 10ⁿ that is not below a rough one."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))


def _next_step(step: float) -> float:
    return _round_step(step * 1.5)
