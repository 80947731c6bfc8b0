import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.reporting.axes import Axis, axis_for, ticks
from coevo.reporting.text import number, percent, whole

numbers = st.floats(-1e6, 1e6, allow_nan=False)


@given(st.floats(-1e3, 1e3), st.floats(1e-3, 1e6), st.integers(2, 9))
def test_ticks_are_round_and_on_the_axis(low, span, most):
    """At most so many, equally far apart by 1, 2 or 5 times a power of ten, none off the axis."""
    high = low + span
    found = ticks(low, high, most)
    assert len(found) <= most
    step = found[1] - found[0] if len(found) > 1 else None
    assert all(low - 1e-6 * span <= value <= high + 1e-6 * span for value in found)
    if step is not None:
        power = 10.0 ** math.floor(math.log10(step) + 1e-6)
        assert round(step / power, 3) in (1, 2, 5)
        assert [b - a for a, b in pairwise(found)] == pytest.approx([step] * (len(found) - 1), rel=1e-3)


@given(st.integers(-50, 50), st.integers(1, 5000))
def test_ticks_of_counts_are_whole(low, span):
    """An axis of counts has ticks at whole numbers alone, and at least one."""
    found = ticks(low, low + span, integer=True)
    assert found
    assert all(value == round(value) for value in found)


@given(st.lists(numbers, max_size=20))
def test_all_values_lie_on_their_axis(values):
    """Whatever the values, the axis has a length and holds them."""
    axis = axis_for("y", values)
    assert axis.low < axis.high
    assert all(axis.low <= value <= axis.high for value in values)


SHOWN = [number, whole, lambda value: number(value, 2), lambda value: number(value, 3), lambda v: percent(v, 0)]


@given(st.lists(numbers, max_size=8), st.integers(2, 9), st.booleans(), st.sampled_from(SHOWN))
def test_no_two_ticks_are_written_alike(values, most, integer, show):
    """Whatever the values and the digits: labels are distinct, in order, at most so many, and there are some."""
    axis = axis_for("y", values, integer=integer, show=show)
    found = axis.ticks(most)
    labels = [show(value) for value in found]
    assert len(set(labels)) == len(labels) <= most
    assert found == sorted(found)
    assert found or not ticks(axis.low, axis.high, most, integer=integer)


def test_a_narrow_axis_keeps_ticks_that_can_be_told_apart():
    """From 15 to 15.2 three digits tell three values apart, not five."""
    axis = Axis("tokens", 15.0, 15.2, show=lambda value: number(value, 3))
    assert [axis.show(value) for value in axis.ticks()] == ["15", "15.1", "15.2"]


def test_an_axis_reaches_its_floor():
    """Counts begin at nought, and are not extended below it."""
    axis = axis_for("x", [3, 150], floor=0, integer=True)
    assert (axis.low, axis.high) == (0, 150)


def test_positions_are_linear():
    """The ends and the middle of an axis lie where they should, also in pixels that run backwards."""
    axis = Axis("y", 2.0, 4.0)
    assert [axis.at(value, 100.0, 0.0) for value in (2.0, 3.0, 4.0)] == [100.0, 50.0, 0.0]
