"""Packings of items into bins of one capacity: the exact check, the bound by total size, the textbook constructions.

A packing is the bin of each item, by number. Sizes and the capacity are integers, so nothing is rounded anywhere.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.errors import Infeasible

IntArray = NDArray[np.int64]


def check_packing(bins: NDArray[Any], sizes: IntArray, capacity: int) -> IntArray:
    """The packing as int64, once it is known to put every item into one bin and to overfill none.

    Accepts whatever came out of the sandbox, so any array is answered by a result or by `Infeasible`.

    Args:
        bins: The bin of each item, one of 0 … n − 1, shape (n,); bins may stay empty.
        sizes: Shape (n,), not negative.
        capacity: Of every bin, in the unit of the sizes.

    Raises:
        Infeasible: Naming the first constraint that is broken, in the order shape, type, range, capacity.
    """
    bins = np.asarray(bins)
    if bins.shape != sizes.shape:
        raise Infeasible(f"expected one bin for each of {len(sizes)} items, got shape {bins.shape}")
    if not np.issubdtype(bins.dtype, np.integer):
        raise Infeasible(f"expected bins as integers, got {bins.dtype}")
    outside = np.flatnonzero((bins < 0) | (bins >= len(sizes)))
    if outside.size:
        item = outside[0]
        raise Infeasible(f"bin {bins[item]} of item {item} is not one of 0 to {len(sizes) - 1}")
    packing = bins.astype(np.int64)
    loads = bin_loads(packing, sizes)
    overfull = np.flatnonzero(loads > capacity)
    if overfull.size:
        raise Infeasible(f"bin {overfull[0]} holds {loads[overfull[0]]}, more than the capacity {capacity}")
    return packing


def bin_loads(packing: IntArray, sizes: IntArray) -> IntArray:
    """Total size in each of the bins 0 … n − 1, exact, shape (n,)."""
    loads = np.zeros(len(sizes), dtype=np.int64)
    # np.bincount would sum in floating point.
    np.add.at(loads, packing, sizes)
    return loads


def count_bins(packing: IntArray) -> int:
    """Number of bins that hold an item."""
    return len(np.unique(packing))


def sum_bound(sizes: IntArray, capacity: int) -> int:
    """A lower bound on the number of bins: total size over capacity, rounded up (L1 in the literature)."""
    return -(-int(sizes.sum()) // int(capacity))


def first_fit_decreasing(sizes: IntArray, capacity: int) -> IntArray:
    """Each item, largest first, into the first bin where it fits; equal sizes in order of index.

    Args:
        sizes: Shape (n,), none above the capacity.
        capacity: Of every bin.

    Returns:
        The bin of each item, numbered in order of opening, shape (n,).
    """
    packing, left = _empty(sizes, capacity)
    for item in np.argsort(-sizes, kind="stable").tolist():
        place = int((left >= sizes[item]).argmax())
        packing[item] = place
        left[place] -= sizes[item]
    return packing


def best_fit_decreasing(sizes: IntArray, capacity: int) -> IntArray:
    """Each item, largest first, into the fullest bin where it fits, the first of equals; else as first fit decreasing.

    Args:
        sizes: Shape (n,), none above the capacity.
        capacity: Of every bin.

    Returns:
        The bin of each item, numbered in order of opening, shape (n,).
    """
    packing, left = _empty(sizes, capacity)
    for item in np.argsort(-sizes, kind="stable").tolist():
        place = int(np.where(left >= sizes[item], left, capacity + 1).argmin())
        packing[item] = place
        left[place] -= sizes[item]
    return packing


def _empty(sizes: IntArray, capacity: int) -> tuple[IntArray, IntArray]:
    """A packing to fill in, and the room left in as many bins as there are items."""
    return np.zeros(len(sizes), dtype=np.int64), np.full(len(sizes), capacity, dtype=np.int64)
