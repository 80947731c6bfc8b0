"""A knapsack as a bar as wide as its capacity; each chosen item is as wide as its weight and as high as its value."""

import numpy as np

from coevo.interfaces import Instance
from coevo.problemkit import svg

WIDTH, HEIGHT, MARGIN = 480.0, 140.0, 16.0


def draw_knapsack(instance: Instance, items: np.ndarray, value: float) -> str:
    """SVG text: items from left to right in the order of choice, the emptiness left over at the right end.

    Args:
        instance: The instance.
        items: Ids of the chosen items, a feasible set.
        value: Its objective, for the title.
    """
    capacity, weights = float(instance.data["capacity"]), instance.data["weights"][items]
    values = instance.data["values"]
    wide = (WIDTH - 2 * MARGIN) / (max(capacity, weights.sum()) or 1.0)
    high = (HEIGHT - 2 * MARGIN) / (values.max(initial=0.0) or 1.0)
    lefts = MARGIN + wide * (np.cumsum(weights) - weights)
    bars = [
        _rectangle(x, wide * weight, high * values[item], opacity=0.35)
        for x, weight, item in zip(lefts, weights, items, strict=True)
    ]
    frame = _rectangle(MARGIN, wide * capacity, HEIGHT - 2 * MARGIN, opacity=0.0)
    title = (
        f"{instance.name}: {len(items)} of {len(values)} items, weight {weights.sum():.4f} of {capacity:g}, "
        f"value {value:.4f}"
    )
    return svg.document([*bars, frame], width=WIDTH, height=HEIGHT, title=title)


def _rectangle(x: float, width: float, height: float, *, opacity: float) -> str:
    return (
        f'<rect x="{x:.2f}" y="{HEIGHT - MARGIN - height:.2f}" width="{width:.2f}" height="{height:.2f}" '
        f'fill="currentColor" fill-opacity="{opacity:g}" stroke="currentColor" stroke-width="0.6"/>'
    )
