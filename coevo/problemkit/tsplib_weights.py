"""Distances as TSPLIB 95 defines them, to the unit (Reinelt 1991; the formulas are those of its documentation)."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

PI = 3.141592
"""TSPLIB's own π; the optima of geographical instances hold for it."""

EARTH_RADIUS_KM = 6378.388


def euclidean(points: FloatArray) -> FloatArray:
    """EUC_2D: rounded to the nearest whole number, halves up. Points have shape (n, 2), distances (n, n)."""
    return np.floor(_lengths(points) + 0.5)


def euclidean_up(points: FloatArray) -> FloatArray:
    """CEIL_2D: rounded up."""
    return np.asarray(np.ceil(_lengths(points)))


def pseudo_euclidean(points: FloatArray) -> FloatArray:
    """ATT: the Euclidean distance over √10, rounded so that it never gets shorter."""
    x, y = _differences(points)
    exact = np.sqrt((x * x + y * y) / 10.0)
    nearest = np.floor(exact + 0.5)
    return np.where(nearest < exact, nearest + 1.0, nearest)


def manhattan(points: FloatArray) -> FloatArray:
    """MAN_2D: the sum of both differences, rounded to nearest."""
    x, y = _differences(points)
    return np.floor(np.abs(x) + np.abs(y) + 0.5)


def maximum(points: FloatArray) -> FloatArray:
    """MAX_2D: the larger of both differences, each rounded to nearest."""
    x, y = _differences(points)
    return np.floor(np.maximum(np.abs(x), np.abs(y)) + 0.5)


def geographical(points: FloatArray) -> FloatArray:
    """GEO: kilometres over the earth's surface; latitude and longitude are given as degrees.minutes.

    Two nodes at one place are 1 apart, as the definition has it.
    """
    degrees = np.trunc(points)
    latitude, longitude = (PI * (degrees + 5.0 * (points - degrees) / 3.0) / 180.0).T
    q1 = np.cos(longitude[:, None] - longitude)
    q2 = np.cos(latitude[:, None] - latitude)
    q3 = np.cos(latitude[:, None] + latitude)
    # Rounding can take the cosine of a very short way past 1.
    cosine = np.clip(0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3), -1.0, 1.0)
    return np.asarray(np.trunc(EARTH_RADIUS_KM * np.arccos(cosine) + 1.0))


DISTANCES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "EUC_2D": euclidean,
    "CEIL_2D": euclidean_up,
    "ATT": pseudo_euclidean,
    "GEO": geographical,
    "MAN_2D": manhattan,
    "MAX_2D": maximum,
}
"""What each EDGE_WEIGHT_TYPE makes of coordinates; the diagonal is whatever the formula gives."""

_TRIANGLES = {
    "UPPER_ROW": (True, 1),
    "LOWER_ROW": (False, 1),
    "UPPER_DIAG_ROW": (True, 0),
    "LOWER_DIAG_ROW": (False, 0),
    # Read by columns, a triangle of a symmetric matrix is the other one read by rows.
    "UPPER_COL": (False, 1),
    "LOWER_COL": (True, 1),
    "UPPER_DIAG_COL": (False, 0),
    "LOWER_DIAG_COL": (True, 0),
}
"""(whether it is the upper triangle by rows, how far from the diagonal it begins) of each format."""

FORMATS = ("FULL_MATRIX", *_TRIANGLES)
"""Every EDGE_WEIGHT_FORMAT that `matrix` knows."""


def num_weights(layout: str, size: int) -> int:
    """How many numbers a format has for `size` nodes."""
    if layout == "FULL_MATRIX":
        return size * size
    return size * (size - 1) // 2 if _TRIANGLES[layout][1] else size * (size + 1) // 2


def matrix(layout: str, weights: FloatArray, size: int) -> FloatArray:
    """The full matrix, shape (size, size), of weights in the order of a format; shape (num_weights,)."""
    if layout == "FULL_MATRIX":
        return weights.reshape(size, size).copy()
    is_upper, offset = _TRIANGLES[layout]
    places = np.triu_indices(size, offset) if is_upper else np.tril_indices(size, -offset)
    full = np.zeros((size, size))
    full[places] = weights
    full.T[places] = weights
    return full


def _differences(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    return points[:, None, 0] - points[:, 0], points[:, None, 1] - points[:, 1]


def _lengths(points: FloatArray) -> FloatArray:
    x, y = _differences(points)
    return np.sqrt(x * x + y * y)
