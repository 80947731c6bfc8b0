"""A packing drawn as stacked bars: one bar per bin, one box per item."""

import numpy as np
from numpy.typing import NDArray

from coevo.problemkit import svg

IntArray = NDArray[np.int64]

BARS_PER_ROW = 60
_BAR, _GAP, _HEIGHT, _MARGIN = 10, 2, 90, 12


def draw_packing(packing: IntArray, sizes: IntArray, capacity: int, *, title: str) -> str:
    """The packing as SVG text; each bin as tall as the capacity in a thin frame, bins in rows of 60.

    Args:
        packing: The bin of each item, checked before; bins without items are not drawn.
        sizes: Shape (n,); stacked from the bottom in order of index.
        capacity: Of every bin.
        title: What the drawing says it is.
    """
    _, bars = np.unique(packing, return_inverse=True)
    count = int(bars.max(initial=-1)) + 1
    scale = _HEIGHT / capacity
    tops = [_origin(bar) for bar in range(count)]
    elements = [_box(x, y, _HEIGHT, stroke=0.3) for x, y in tops]
    filled = [0] * count
    for bar, size in zip(bars.tolist(), sizes.tolist(), strict=True):
        x, y = tops[bar]
        filled[bar] += size
        elements.append(_box(x, y + _HEIGHT - filled[bar] * scale, size * scale, stroke=1.0))
    rows = -(-count // BARS_PER_ROW)
    width = 2 * _MARGIN + min(count, BARS_PER_ROW) * (_BAR + _GAP)
    return svg.document(elements, width=width, height=_MARGIN + rows * (_HEIGHT + _MARGIN), title=title)


def _origin(bar: int) -> tuple[float, float]:
    """Upper left corner of a bar, in pixels."""
    row, column = divmod(bar, BARS_PER_ROW)
    return _MARGIN + column * (_BAR + _GAP), _MARGIN + row * (_HEIGHT + _MARGIN)


def _box(x: float, y: float, height: float, *, stroke: float) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{_BAR}" height="{height:.1f}" '
        f'fill="none" stroke="currentColor" stroke-width="{stroke:g}"/>'
    )
