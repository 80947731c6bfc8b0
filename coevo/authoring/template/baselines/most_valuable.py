"""The job that is worth most, whatever it takes."""

import numpy as np
from numpy.typing import NDArray


def choose_job(hours_left: float, durations: NDArray[np.float64], values: NDArray[np.float64]) -> int:
    """Return the position of the most valuable job that fits."""
    return int(np.argmax(np.where(durations <= hours_left, values, -np.inf)))
