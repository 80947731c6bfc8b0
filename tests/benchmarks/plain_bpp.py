"""The construction of packings in NumPy, one packing after the other, as it would be written without a compiler."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def plain_construct(weights: FloatArray, demands: IntArray, capacity: int, uniforms: FloatArray) -> IntArray:
    """What the compiled `pack` returns, from the same arguments: the first packing with the fewest bins."""
    packings = [one_packing(weights, demands, capacity, row) for row in uniforms]
    return min(packings, key=lambda packing: int(packing.max()))


def one_packing(weights: FloatArray, demands: IntArray, capacity: int, row: FloatArray) -> IntArray:
    """One packing: the bin of each item, shape (n,)."""
    packing = np.full(len(demands), -1, dtype=np.int64)
    order = np.argsort(demands, kind="stable")
    number = 0
    while (left := order[packing[order] < 0]).size:
        member = left[int(row[number] * left.size)]
        packing[member] = number
        room = capacity - demands[member]
        sums = weights[member].copy()
        while (fitting := np.flatnonzero((packing < 0) & (demands <= room))).size:
            member = fitting[sums[fitting].argmax()]
            packing[member] = number
            room -= demands[member]
            sums += weights[member]
        number += 1
    return packing
