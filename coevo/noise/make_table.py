"""How `normal_table.npy` was made; run with `python -m coevo.noise.make_table` to write it again.

The half-normal distribution is cut into 32,768 slices of equal probability; a magnitude is the quantile at the middle
of its slice. Cutting the tails lowers the variance a little, so the magnitudes are scaled until the table, rounded to
fp32 and with both signs, has a standard deviation of 1. The file is shipped, not computed at run time, because
noise must not depend on a mathematics library.
"""

from math import fsum
from pathlib import Path
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from coevo.noise.table import NUM_MAGNITUDES, TABLE_FILE


def magnitudes() -> NDArray[np.float32]:
    """The 32,768 magnitudes of the table, ascending, fp32, mean square 1."""
    normal = NormalDist()
    quantiles = np.array([normal.inv_cdf(0.5 + (slot + 0.5) / (2 * NUM_MAGNITUDES)) for slot in range(NUM_MAGNITUDES)])
    scale = 1.0
    # Rounding to fp32 moves the mean square by about 1e-10, so the scale is corrected on the rounded values.
    for _ in range(4):
        scale /= mean_square(_rounded(quantiles, scale)) ** 0.5
    return _rounded(quantiles, scale)


def mean_square(values: NDArray[np.float32]) -> float:
    """Mean of the squares, summed exactly."""
    return fsum(float(value) ** 2 for value in values) / len(values)


def write(file: Path = TABLE_FILE) -> None:
    """Write the table as a little-endian fp32 .npy file."""
    np.save(file, magnitudes(), allow_pickle=False)


def _rounded(quantiles: NDArray[np.float64], scale: float) -> NDArray[np.float32]:
    return (quantiles * scale).astype("<f4")


if __name__ == "__main__":
    write()
