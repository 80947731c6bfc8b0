"""Small line drawings as SVG text: black on nothing, so that they read in print, on dark pages and without colour.

Everything drawn is numbers, and the title is escaped: a drawing can be put into a page as it is.
"""

from collections.abc import Iterable
from html import escape

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def fit(points: FloatArray, *, size: float, margin: float) -> FloatArray:
    """Scale and shift points into a square drawing with y pointing up, keeping their proportions.

    Args:
        points: Coordinates, shape (n, 2).
        size: Side of the drawing, in pixels.
        margin: Blank border on each side, in pixels.

    Returns:
        Pixel coordinates, shape (n, 2).
    """
    low = points.min(axis=0)
    # At least so much that the scale is finite: the points may all be at one place, or as good as.
    extent = max(float((points.max(axis=0) - low).max()), 1e-300)
    pixels = margin + (points - low) * ((size - 2 * margin) / extent)
    return np.column_stack((pixels[:, 0], size - pixels[:, 1]))


def polygon(points: FloatArray) -> str:
    """A closed line through the points, shape (n, 2), in pixels."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polygon points="{path}" fill="none" stroke="currentColor" stroke-width="1.2"/>'


def dot(x: float, y: float, *, radius: float = 2.5) -> str:
    """A filled circle; all lengths in pixels."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="currentColor"/>'


def square(x: float, y: float, *, side: float = 10.0) -> str:
    """A hollow square around a point, to mark it; all lengths in pixels."""
    return (
        f'<rect x="{x - side / 2:.1f}" y="{y - side / 2:.1f}" width="{side:g}" height="{side:g}" '
        'fill="none" stroke="currentColor" stroke-width="1.5"/>'
    )


def document(elements: Iterable[str], *, width: float, height: float, title: str) -> str:
    """A complete SVG document.

    Args:
        elements: Drawn elements, back to front.
        width: In pixels.
        height: In pixels.
        title: What the drawing shows, for screen readers and as a tooltip.
    """
    body = "".join(f"{element}\n" for element in elements)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img">\n<title>{escape(title)}</title>\n{body}</svg>\n'
    )
