"""A set of vectors as a grid: one column per vector, one row per entry; 0 is blank, 1 grey, 2 black."""

import numpy as np

from coevo.problemkit import svg

MARGIN, HEIGHT = 12.0, 180.0
CELL_WIDTHS = (1.0, 6.0)
"""Narrowest and widest column; between them a drawing is about 900 pixels wide."""


def draw_set(vectors: np.ndarray, title: str) -> str:
    """SVG text; vectors (chosen, n) with entries 0 to 2, from left to right."""
    count, length = vectors.shape
    cell = float(np.clip(900.0 / max(count, 1), *CELL_WIDTHS))
    step = (HEIGHT - 2 * MARGIN) / max(length, 1)
    layers = [_layer(vectors == entry, cell, step, opacity) for entry, opacity in ((1, 0.35), (2, 1.0))]
    return svg.document(layers, width=2 * MARGIN + cell * count, height=HEIGHT, title=title)


def _layer(marked: np.ndarray, cell: float, step: float, opacity: float) -> str:
    """All cells of one shade as a single path: thousands of elements would make a heavy file."""
    path = "".join(
        f"M{MARGIN + column * cell:.1f} {MARGIN + row * step:.1f}h{cell:.1f}v{step:.1f}h-{cell:.1f}z"
        for column, row in np.argwhere(marked).tolist()
    )
    return f'<path d="{path}" fill="currentColor" fill-opacity="{opacity:g}"/>'
