"""The quantile table that turns 16 random bits into one standard normal number.

A table makes the normal exact: Box-Muller would need log, sin and cos, whose last bit differs between devices.
The price is a tail that ends at 4.3 standard deviations.
"""

import hashlib
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coevo.errors import CoevoError

NUM_MAGNITUDES = 32_768
TABLE_FILE = Path(__file__).with_name("normal_table.npy")
TABLE_SHA256 = "a32e41fd7c33c4082eabcdc031bd01df2e8829e93e0773a6aa636c1ecf7b26df"
"""SHA-256 of the magnitudes as little-endian fp32 bytes; another table is another noise scheme."""


@cache
def normal_table() -> NDArray[np.float32]:
    """The number of every lane: shape (65536,), fp32, read-only, mean 0, standard deviation 1.

    Entries 0 to 32767 are the magnitudes in ascending order, entries 32768 to 65535 the same with a minus sign: the
    top bit of a lane is its sign.

    Raises:
        CoevoError: If the file is not the one this version was built with.
    """
    magnitudes = load_magnitudes(TABLE_FILE)
    table = np.concatenate([magnitudes, -magnitudes])
    table.flags.writeable = False
    return table


def load_magnitudes(file: Path) -> NDArray[np.float32]:
    """Read and check the magnitudes, shape (32768,), fp32.

    Raises:
        CoevoError: If the contents do not have the expected SHA-256.
    """
    magnitudes: NDArray[np.float32] = np.load(file, allow_pickle=False)
    found = hashlib.sha256(magnitudes.astype("<f4").tobytes()).hexdigest()
    if found != TABLE_SHA256:
        raise CoevoError(
            f"the noise table should have SHA-256 {TABLE_SHA256[:16]}…, has {found[:16]}…, in {file}; reinstall coevo"
        )
    return magnitudes.astype(np.float32)
