"""Point sets in NumPy's own file format (`.npy`)."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coevo.errors import InstanceFileError, one_line
from coevo.problemkit.text_files import LARGEST
from coevo.problemkit.tsplib import MAX_NODES

MAX_PAIRS = 200_000_000
"""Distances between the points of all instances of a file: 1.6 GB."""


def read_points(file: Path) -> list[NDArray[np.float64]]:
    """The point sets in a `.npy` file, one per instance.

    Args:
        file: An array of numbers of shape (n, 2), one instance, or (instances, n, 2). Nothing is unpickled.

    Returns:
        Coordinates of each instance, shape (n, 2), float64, read-only.

    Raises:
        InstanceFileError: If it is no such array, is empty or too large, or has numbers that are not finite or beyond
            ±1e12.
    """
    array = load_numbers(file)
    if array.ndim not in (2, 3) or array.shape[-1] != 2 or 0 in array.shape:
        message = f"expected points of shape (n, 2) or (instances, n, 2), none empty, got shape {array.shape}"
        raise InstanceFileError(file, None, message)
    if array.shape[-2] > MAX_NODES:
        message = f"expected at most {MAX_NODES:,} points in an instance, got {array.shape[-2]:,}"
        raise InstanceFileError(file, None, message)
    if (pairs := array.size // 2 * array.shape[-2]) > MAX_PAIRS:
        message = f"expected at most {MAX_PAIRS:,} distances in all instances together, got {pairs:,}; split the file"
        raise InstanceFileError(file, None, message)
    return list(array.reshape(-1, *array.shape[-2:]))


def load_numbers(file: Path) -> NDArray[np.float64]:
    """The array in a `.npy` file as float64, of any shape, read-only.

    Raises:
        InstanceFileError: If the file is no array of real numbers, or has any that is not finite or beyond ±1e12.
    """
    if not file.is_file():
        raise InstanceFileError(file, None, f"expected a file, got {'a folder' if file.is_dir() else 'none'}")
    try:
        with file.open("rb") as opened:
            array = np.lib.format.read_array(opened, allow_pickle=False)
    except Exception as error:
        # NumPy parses the header with Python's tokenizer, whose errors have nothing else in common.
        message = f"expected an array in NumPy's .npy format, got: {one_line(error)}"
        raise InstanceFileError(file, None, message) from error
    if array.dtype.kind not in "iuf":
        raise InstanceFileError(file, None, f"expected an array of real numbers, got {array.dtype}")
    numbers = np.asarray(array, dtype=np.float64, order="C")
    strange = np.argwhere(~(np.abs(numbers) <= LARGEST))
    if len(strange):
        place = tuple(int(index) for index in strange[0])
        message = f"expected finite numbers up to {LARGEST:g} in size, got {numbers[place]:g} at {list(place)}"
        raise InstanceFileError(file, None, message)
    numbers.flags.writeable = False
    return numbers
