import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.reporting.axes import Axis, axis_for, ticks

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


def test_an_axis_reaches_its_floor():
    """Counts begin at nought, and are not extended below it."""
    axis = axis_for("x", [3, 150], floor=0, integer=True)
    assert (axis.low, axis.high) == (0, 150)


def test_positions_are_linear():
    """The ends and the middle of an axis lie where they should, also in pixels that run backwards."""
    axis = Axis("y", 2.0, 4.0)
    assert [axis.at(value, 100.0, 0.0) for value in (2.0, 3.0, 4.0)] == [100.0, 50.0, 0.0]
