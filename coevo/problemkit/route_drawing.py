"""Tours, and routes around a depot, as line drawings."""

import numpy as np
from numpy.typing import NDArray

from coevo.errors import ContentError
from coevo.interfaces import Instance
from coevo.problemkit import svg
from coevo.problemkit.routes import split_routes

SIZE = 400

PATTERNS = ("", "7 3", "2 3", "9 3 2 3", "12 4", "4 4", "9 2 2 2 2 2")
"""Values of `stroke-dasharray`, in pixels; routes take turns by their direction from the depot."""


def draw_tour(instance: Instance, tour: NDArray[np.int64], length: float) -> str:
    """A closed tour as SVG text; a square marks its first node.

    Args:
        instance: With `coordinates`, shape (n, 2).
        tour: Node ids in the order of the visits, checked; whether the first comes again at the end is the same.
        length: Of the tour, for the title.

    Raises:
        ContentError: If the instance has no coordinates.
    """
    points = _pixels(instance)
    elements = [svg.polygon(points[tour]), *(svg.dot(x, y) for x, y in points), svg.square(*points[tour[0]])]
    title = f"{instance.name}: {len(points)} nodes, length {length:.4f}"
    return svg.document(elements, width=SIZE, height=SIZE, title=title)


def draw_routes(instance: Instance, visits: NDArray[np.int64], length: float) -> str:
    """Routes as SVG text, each a closed line, dashed so that neighbours differ without colour; a square at the depot.

    Args:
        instance: With `coordinates`, shape (n + 1, 2); row 0 is the depot.
        visits: Routes as `coevo.problemkit.routes` checks them.
        length: Of all routes together, for the title.

    Raises:
        ContentError: If the instance has no coordinates.
    """
    points, routes = _pixels(instance), split_routes(visits)
    towards = [points[route].mean(axis=0) - points[0] for route in routes]
    around = sorted(range(len(routes)), key=lambda k: float(np.arctan2(*towards[k])))
    lines = [_line(points[[0, *routes[k]]], PATTERNS[turn % len(PATTERNS)]) for turn, k in enumerate(around)]
    elements = [*lines, *(svg.dot(x, y) for x, y in points[1:]), svg.square(*points[0])]
    title = f"{instance.name}: {len(points) - 1} customers, {len(routes)} routes, length {length:.4f}"
    return svg.document(elements, width=SIZE, height=SIZE, title=title)


def _pixels(instance: Instance) -> svg.FloatArray:
    if "coordinates" not in instance.data:
        raise ContentError(f"expected coordinates to draw {instance.name}, its file has none")
    return svg.fit(np.asarray(instance.data["coordinates"]), size=SIZE, margin=16)


def _line(points: svg.FloatArray, pattern: str) -> str:
    line = svg.polygon(points)
    return line.replace("/>", f' stroke-dasharray="{pattern}"/>') if pattern else line
