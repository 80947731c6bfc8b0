"""The randomised construction that turns a matrix of preferences into a packing, compiled by Numba.

Every bin starts with an item drawn at random; then, as long as something fits, it takes the item that its members
prefer most on average, the first of equals. 200 such packings are built and the one with the fewest bins is kept.

Three choices of ours. The published program adds 1e-5 to the mean preference: sum, mean and shifted mean have the same
largest entry, so the sum decides, and only ties that rounding makes can differ. A packing is given up once it cannot
need fewer bins than the best one so far, which cannot change the result. And where that program drew from one
generator during training and from another, seeded, in tests, here one generator per instance serves every split.

The kernel wants items in order of size: what fits is then the beginning of the list of what is left.
"""

import numpy as np
from numba import njit

NUM_CONSTRUCTIONS = 200
LOW, HIGH = 1e-6, 1e6
"""Entries of a matrix are clipped to this range before they are divided by the largest."""


def best_packing(matrix, demands, capacity, seed):
    """The packing with the fewest bins of 200; of several such, the first.

    Args:
        matrix: Preference of item i for item j, shape (n, n), finite, its largest entry positive.
        demands: Sizes, integers, shape (n,), none above the capacity.
        capacity: Of every bin, at least 1.
        seed: Of the generator that draws the first item of every bin.

    Returns:
        The bin of each item, numbered in order of opening, int64, shape (n,).
    """
    # One row per packing: how many numbers one of them uses is nothing to the others.
    uniforms = np.random.default_rng(seed).random((NUM_CONSTRUCTIONS, len(demands)))
    return pack(normalised(matrix), demands, capacity, uniforms)


def normalised(matrix):
    """The matrix clipped to [1e-6, 1e6] and divided by its largest entry; then nothing is below 1e-6."""
    clipped = np.clip(np.asarray(matrix, dtype=np.float64), LOW, HIGH)
    return np.maximum(clipped / clipped.max(), LOW)


def pack(weights, demands, capacity, uniforms):
    """The packing with the fewest bins among one per row of `uniforms`; of several such, the first.

    Args:
        weights: Preferences, float64, shape (n, n).
        demands: Integers, shape (n,), none above the capacity.
        capacity: Of every bin, at least 1.
        uniforms: In [0, 1), shape (packings, n); the b-th of a row draws the first item of bin b among the items left,
            in order of size and then of index.

    Returns:
        The bin of each item, int64, shape (n,).
    """
    order = np.argsort(demands, kind="stable")
    # Always writeable and contiguous, because Numba would compile once more for other arrays.
    sizes = np.array(demands, dtype=np.int64)[order]
    packing = np.empty(len(sizes), dtype=np.int64)
    packing[order] = construct(weights[np.ix_(order, order)], sizes, int(capacity), uniforms, order)
    return packing


@njit(cache=True)
def construct(weights, demands, capacity, uniforms, index):
    """As `pack`, for sizes in ascending order; `index` says which of equally preferred items comes first."""
    size, fewest = len(demands), len(demands) + 1
    given = (weights, demands, capacity, index)
    best, packing, unpacked = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
    sums = np.zeros(size)
    for row in uniforms:
        left, rest, number = size, demands.sum(), 0
        for item in range(size):
            unpacked[item] = item
        while left > 0 and number + (rest + capacity - 1) // capacity < fewest:
            place = int(row[number] * left)
            before = left
            left, load = fill_bin(place, given, unpacked[:left], sums)
            # What went into the bin lies behind what is left.
            for packed in range(left, before):
                packing[unpacked[packed]] = number
            rest -= load
            number += 1
        if left == 0 and number < fewest:
            fewest = number
            best[:] = packing
    return best


@njit(cache=True)
def fill_bin(place, given, unpacked, sums):
    """Fill a bin with the item at a place of the list, and then with the most preferred ones until none fits.

    Preferences are summed in the order in which the members came.

    Args:
        place: Where the first item is.
        given: Preferences, sizes, capacity and original indices.
        unpacked: The items to choose from, ascending; changed, so that those that stay come first and are ascending.
        sums: Scratch of shape (n,).

    Returns:
        How many items stay, and the total size in the bin.
    """
    weights, demands, capacity, index = given
    left = len(unpacked) - 1
    member = take(unpacked, place)
    room = capacity - demands[member]
    count = count_fitting(unpacked, left, demands, room)
    sums[:count] = 0.0
    while count > 0:
        row = weights[member]
        for each in range(count):
            sums[each] += row[unpacked[each]]
        place = most_preferred(sums[:count], unpacked, index)
        member = take(unpacked[:left], place)
        take(sums[:count], place)
        left -= 1
        room -= demands[member]
        count = count_fitting(unpacked, count - 1, demands, room)
    return left, capacity - room


@njit(cache=True)
def take(values, place):
    """Move one of some values behind the others, which keep their order; return it."""
    taken = values[place]
    for later in range(place, len(values) - 1):
        values[later] = values[later + 1]
    values[-1] = taken
    return taken


@njit(cache=True)
def most_preferred(sums, unpacked, index):
    """The place of the largest sum; of several such, that of the item with the lowest original index.

    Step by step and apart from the summing, because a processor predicts and overlaps plain loops better.
    """
    largest = sums[0]
    for each in range(1, len(sums)):
        largest = max(largest, sums[each])
    place = -1
    for each in range(len(sums)):
        if sums[each] == largest and (place < 0 or index[unpacked[each]] < index[unpacked[place]]):
            place = each
    return place


@njit(cache=True)
def count_fitting(unpacked, count, demands, room):
    """How many of the first `count` items, ascending in size, are no larger than the room."""
    low = 0
    while low < count:
        middle = (low + count) // 2
        if demands[unpacked[middle]] <= room:
            low = middle + 1
        else:
            count = middle
    return low
