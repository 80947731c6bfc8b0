"""First fit: the first bin where the item fits."""

import numpy as np


def score(item, bins):
    """Return scores that fall from bin to bin."""
    return -np.arange(len(bins), dtype=float)
