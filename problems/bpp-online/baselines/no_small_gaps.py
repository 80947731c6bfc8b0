"""Best fit that avoids gaps too small for most items: fill a bin exactly, or leave room for another one."""

import numpy as np


def score(item, bins):
    """Return minus the room that would remain, with a penalty for a small gap that is none."""
    left = bins - item
    penalty = np.where((left > 0) & (left < 0.2 * bins.max()), 10.0, 0.0)
    return -left - penalty
