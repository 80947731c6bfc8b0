"""Packings: the exact check, what it refuses, the bound by size and the textbook constructions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.errors import Infeasible
from coevo.problemkit.packing import (
    best_fit_decreasing,
    bin_loads,
    check_packing,
    count_bins,
    first_fit_decreasing,
    sum_bound,
)
from coevo.problemkit.packing_drawing import draw_packing

SIZES = np.array([6, 4, 5, 5], dtype=np.int64)

ITEMS = st.lists(st.integers(1, 20), min_size=1, max_size=40).map(lambda sizes: np.array(sizes, dtype=np.int64))


def plain_decreasing(sizes, capacity, prefer):
    """Bins as lists of items: each item, largest first, goes to the preferred of the bins where it fits."""
    bins = []
    for item in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        fitting = [each for each in bins if sum(sizes[i] for i in each) + sizes[item] <= capacity]
        if fitting:
            prefer(fitting, lambda each: sum(sizes[i] for i in each)).append(item)
        else:
            bins.append([item])
    return [next(number for number, each in enumerate(bins) if item in each) for item in range(len(sizes))]


def test_a_packing_is_returned_as_int64():
    """Any integer type will do, bins may be skipped, and a bin may be full to the brim."""
    packing = check_packing(np.array([3, 3, 1, 1], dtype=np.uint8), SIZES, 10)
    assert packing.dtype == np.int64
    assert packing.tolist() == [3, 3, 1, 1]
    assert count_bins(packing) == 2
    assert bin_loads(packing, SIZES).tolist() == [0, 10, 0, 10]


@pytest.mark.parametrize(
    ("bins", "message"),
    [
        (np.array([0, 0, 1]), r"one bin for each of 4 items, got shape \(3,\)"),
        (np.array([[0, 0, 1, 1]]), r"got shape \(1, 4\)"),
        (np.array(0), r"got shape \(\)"),
        (np.array([0.0, 0.0, 1.0, 1.0]), "bins as integers, got float64"),
        (np.array([0, 0, 1, np.nan]), "bins as integers, got float64"),
        (np.array([False, False, True, True]), "bins as integers, got bool"),
        (np.array([0, 0, 1, 1j]), "bins as integers, got complex128"),
        (np.array(["0", "0", "1", "1"]), "bins as integers, got <U1"),
        (np.array([0, 0, 1, None]), "bins as integers, got object"),
        (np.array([0, 0, 1, -1]), "bin -1 of item 3 is not one of 0 to 3"),
        (np.array([0, 0, 4, 1]), "bin 4 of item 2 is not one of 0 to 3"),
        (np.array([0, 0, 2**64 - 1, 1], dtype=np.uint64), "bin 18446744073709551615 of item 2"),
        (np.array([0, 1, 1, 1]), "bin 1 holds 14, more than the capacity 10"),
        (np.array([2, 1, 2, 1]), "bin 2 holds 11, more than the capacity 10"),
    ],
)
def test_whatever_is_no_packing_is_refused_with_the_reason(bins, message):
    """Wrong shapes, types, bins out of range and overfull bins; by one unit is too much."""
    with pytest.raises(Infeasible, match=message):
        check_packing(bins, SIZES, 10)


def test_loads_are_exact_where_floating_point_is_not():
    """Two items that a float64 sum would round to the capacity."""
    sizes = np.array([2**53, 1], dtype=np.int64)
    with pytest.raises(Infeasible, match="bin 0 holds 9007199254740993"):
        check_packing(np.array([0, 0]), sizes, 2**53)


@pytest.mark.parametrize(
    ("sizes", "capacity", "bound"), [([10], 10, 1), ([10, 1], 10, 2), ([5, 5], 10, 1), ([1], 9, 1)]
)
def test_the_bound_by_size_is_rounded_up(sizes, capacity, bound):
    """Total size over capacity, by hand."""
    assert sum_bound(np.array(sizes), capacity) == bound


@given(ITEMS, st.integers(20, 60))
def test_textbook_packings_are_feasible_and_agree_with_a_plain_version(sizes, capacity):
    """Item by item, and never below the bound by size."""
    first = first_fit_decreasing(sizes, capacity)
    best = best_fit_decreasing(sizes, capacity)
    assert first.tolist() == plain_decreasing(sizes.tolist(), capacity, lambda bins, load: bins[0])
    assert best.tolist() == plain_decreasing(sizes.tolist(), capacity, lambda bins, load: max(bins, key=load))
    for packing in (first, best):
        assert count_bins(check_packing(packing, sizes, capacity)) >= sum_bound(sizes, capacity)


def test_best_fit_prefers_the_fuller_bin_and_first_fit_the_earlier():
    """A 2 fits beside the 7 and beside the two 4s, where it fills the bin."""
    sizes = np.array([7, 4, 4, 2])
    assert first_fit_decreasing(sizes, 10).tolist() == [0, 1, 1, 0]
    assert best_fit_decreasing(sizes, 10).tolist() == [0, 1, 1, 1]


@given(ITEMS)
def test_a_drawing_has_a_frame_for_each_bin_and_a_box_for_each_item(sizes):
    """Whatever the bins are called."""
    packing = first_fit_decreasing(sizes, 20)
    text = draw_packing(len(sizes) - 1 - packing, sizes, 20, title="a < b")
    assert text.count("<rect ") == len(sizes) + count_bins(packing)
    assert "<title>a &lt; b</title>" in text
