"""Distances by the rules of TSPLIB, against values worked out by hand and plain loops."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from coevo.problemkit.tsplib_weights import DISTANCES, FORMATS, matrix, num_weights

POINTS = np.array([[0.0, 0.0], [1.0, 1.0], [3.0, 4.0], [-2.5, 0.0]])


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("EUC_2D", [1, 5, 3]),  # √2, 5, 2.5
        ("CEIL_2D", [2, 5, 3]),
        ("ATT", [1, 2, 1]),  # 0.447, 1.58, 0.79
        ("MAN_2D", [2, 7, 3]),
        ("MAX_2D", [1, 4, 3]),
    ],
)
def test_rules_by_hand(rule, expected):
    """Distances from the origin to the three other points; halves go up, ATT never down."""
    assert DISTANCES[rule](POINTS)[0, 1:].tolist() == expected


def geographical(a, b):
    """Kilometres between two places, as TSPLIB's documentation computes them."""

    def radians(value):
        degrees = int(value)
        return 3.141592 * (degrees + 5.0 * (value - degrees) / 3.0) / 180.0

    q1 = math.cos(radians(a[1]) - radians(b[1]))
    q2 = math.cos(radians(a[0]) - radians(b[0]))
    q3 = math.cos(radians(a[0]) + radians(b[0]))
    return int(6378.388 * math.acos(max(-1.0, min(1.0, 0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3)))) + 1.0)


def test_geographical_distances_agree_with_a_plain_loop():
    """On a hundred places of both hemispheres; a quarter of the equator is 10,019.1 km, rounded up."""
    places = np.random.default_rng(3).uniform((-89, -179), (89, 179), (100, 2)).round(2)
    assert DISTANCES["GEO"](places).tolist() == [[geographical(a, b) for b in places] for a in places]
    assert DISTANCES["GEO"](np.array([[0.0, 0.0], [0.0, 90.0]]))[0, 1] == 10020


@given(arrays(np.float64, st.tuples(st.integers(1, 6), st.just(2)), elements=st.floats(-1e12, 1e12)))
def test_every_rule_gives_whole_symmetric_distances(points):
    """Finite, whole, not negative and symmetric for any coordinates that a file may have, without a warning."""
    for rule in DISTANCES.values():
        distances = rule(points)
        assert distances.dtype == np.float64
        assert np.array_equal(distances, np.rint(distances))
        assert np.array_equal(distances, distances.T)
        assert (distances >= 0).all()


@pytest.mark.parametrize("layout", FORMATS)
def test_layouts_have_as_many_weights_as_they_say(layout):
    """A matrix of one weight each is full of them, but for the diagonal that a format leaves out."""
    for size in (1, 2, 5):
        full = matrix(layout, np.ones(num_weights(layout, size)), size)
        has_diagonal = "DIAG" in layout or layout == "FULL_MATRIX"
        assert np.array_equal(full, np.ones((size, size)) - (0 if has_diagonal else np.eye(size)))
