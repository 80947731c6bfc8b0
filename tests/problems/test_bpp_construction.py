"""The construction of packings: equal to a plain version that recomputes everything, and to the published rule."""

from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coevo.content import find_problem
from coevo.problemkit.packing import check_packing, count_bins


@pytest.fixture(scope="module")
def module():
    """The module `construction` of the problem, by the name under which Numba's cache knows it."""
    return import_module(f"{find_problem('bpp').load().__name__}.construction")


def plain_packing(weights, demands, capacity, uniforms):
    """Every packing built to its end, every sum formed anew from the members in their order; the first best is kept."""
    packings = [one_packing(weights, demands, capacity, row) for row in uniforms]
    return min(packings, key=lambda packing: max(packing))


def one_packing(weights, demands, capacity, row):
    """One packing: the bin of each item."""
    packing, number = {}, 0
    while len(packing) < len(demands):
        left = [item for item in range(len(demands)) if item not in packing]
        left.sort(key=lambda item: demands[item])
        members = [left[int(row[number] * len(left))]]
        while True:
            room = capacity - sum(demands[item] for item in members)
            fitting = [item for item in left if item not in members and demands[item] <= room]
            if not fitting:
                break
            members.append(max(sorted(fitting), key=lambda item: sum(weights[member][item] for member in members)))
        packing |= dict.fromkeys(members, number)
        number += 1
    return [packing[item] for item in range(len(demands))]


INSTANCES = st.integers(1, 30).flatmap(
    lambda capacity: st.tuples(st.just(capacity), st.lists(st.integers(0, capacity), min_size=1, max_size=14))
)


@settings(deadline=None, max_examples=150)
@given(INSTANCES, st.integers(0, 2**32), st.integers(1, 3))
def test_the_kernel_equals_the_plain_version(module, instance, seed, levels):
    """Bin by bin, with few distinct preferences and so with ties, items of size 0, and items that fill a bin."""
    capacity, demands = instance
    rng = np.random.default_rng(seed)
    size = len(demands)
    weights = rng.integers(1, 10**levels, (size, size)) / 10**levels
    uniforms = rng.random((7, size))
    packing = module.pack(weights, np.array(demands), capacity, uniforms)
    assert packing.tolist() == plain_packing(weights.tolist(), demands, capacity, uniforms.tolist())
    check_packing(packing, np.array(demands), capacity)


def test_the_kernel_equals_itself_uncompiled(module):
    """The same source run by Python gives the same packing, on sizes as in the published instances."""
    rng = np.random.default_rng(3)
    demands = rng.integers(20, 101, 60)
    arguments = rng.random((60, 60)), np.sort(demands), 150, rng.random((12, 60)), np.argsort(demands, kind="stable")
    assert np.array_equal(module.construct(*arguments), module.construct.py_func(*arguments))


def test_the_choice_equals_the_published_one_by_the_mean_plus_a_constant(module):
    """On real sizes, the argmax of the mean preference + 1e-5 leads to the same packings as the sum."""
    rng = np.random.default_rng(5)
    demands = rng.integers(20, 101, 80).tolist()
    weights = rng.random((80, 80))
    for row in rng.random((5, 80)):
        bins, left = [], sorted(range(80), key=lambda item: demands[item])
        while left:
            members = [left.pop(int(row[len(bins)] * len(left)))]
            while fitting := sorted(i for i in left if demands[i] + sum(demands[m] for m in members) <= 150):
                means = weights[np.ix_(members, fitting)].mean(axis=0) + 1e-5
                members.append(fitting[int(np.argmax(means))])
                left.remove(members[-1])
            bins.append(sorted(members))
        packing = module.pack(weights, np.array(demands), 150, row[None, :])
        assert [np.flatnonzero(packing == number).tolist() for number in range(len(bins))] == bins


@pytest.mark.parametrize(
    ("demands", "bins"), [([5], [0]), ([10], [0]), ([5, 5], [0, 0]), ([10, 10], None), ([0, 10], [0, 0])]
)
def test_one_and_two_items_by_hand(module, demands, bins):
    """Alone, together, apart, and an item of no size beside one that fills the bin."""
    packing = module.best_packing(np.ones((len(demands),) * 2), np.array(demands), 10, seed=0)
    assert count_bins(packing) == (1 if bins else 2)
    assert bins is None or packing.tolist() == bins


@given(st.integers(1, 12), st.integers(0, 100))
def test_a_perfect_matrix_finds_the_perfect_packing(module, pairs, seed):
    """Items in pairs that fill a bin, and preferences that know the pairs: one bin per pair, whoever comes first."""
    small = np.arange(1, pairs + 1)
    demands = np.concatenate((small, 100 - small))
    matrix = np.tile(np.roll(np.eye(2 * pairs), pairs, axis=1), 1)
    assert count_bins(module.best_packing(matrix, demands, 100, seed)) == pairs


def test_preferences_are_clipped_and_scaled(module):
    """To at least 1e-6 and at most 1e6, divided by the largest, and again at least 1e-6."""
    matrix = np.array([[1e9, 1e6], [-3.0, 50.0]])
    assert module.normalised(matrix).tolist() == [[1.0, 1.0], [1e-6, 5e-5]]
    assert module.normalised(np.array([[4, 2], [0, 1]])).tolist() == [[1.0, 0.5], [1e-6, 0.25]]


def test_the_packing_depends_on_the_seed_alone(module):
    """Global generators are neither read nor moved; another seed draws other packings."""
    rng = np.random.default_rng(0)
    demands, matrix = rng.integers(20, 101, 50), rng.random((50, 50))
    before = np.random.get_state()[1].tolist()  # noqa: NPY002 - that it is left alone is what is tested
    first = module.best_packing(matrix, demands, 150, 1)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
    assert np.array_equal(first, module.best_packing(matrix, demands, 150, 1))
    assert not np.array_equal(first, module.best_packing(matrix, demands, 150, 2))
