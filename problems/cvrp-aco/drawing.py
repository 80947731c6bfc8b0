"""Routes around a depot as a line drawing: each has a pattern of dashes, so that neighbours differ without colour."""

from collections.abc import Sequence

import numpy as np

from coevo.problemkit import svg

SIZE = 400

PATTERNS = ("", "7 3", "2 3", "9 3 2 3", "12 4", "4 4", "9 2 2 2 2 2")
"""Values of `stroke-dasharray`, in pixels; routes take turns by their direction from the depot."""


def draw_routes(coordinates: np.ndarray, routes: Sequence[np.ndarray], title: str) -> str:
    """Routes as SVG text; a square marks the depot.

    Args:
        coordinates: Shape (n + 1, 2); row 0 is the depot.
        routes: The customers of each route in the order of the visits.
        title: What the drawing shows.
    """
    points = svg.fit(coordinates, size=SIZE, margin=16)
    towards = [points[route].mean(axis=0) - points[0] for route in routes]
    around = sorted(range(len(routes)), key=lambda k: float(np.arctan2(*towards[k])))
    lines = [_line(points[[0, *routes[k]]], PATTERNS[turn % len(PATTERNS)]) for turn, k in enumerate(around)]
    elements = [*lines, *(svg.dot(x, y) for x, y in points[1:]), svg.square(*points[0])]
    return svg.document(elements, width=SIZE, height=SIZE, title=title)


def _line(points: np.ndarray, pattern: str) -> str:
    line = svg.polygon(points)
    return line.replace("/>", f' stroke-dasharray="{pattern}"/>') if pattern else line
