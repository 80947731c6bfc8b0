"""The proving solver of packings: small instances by exhaustion, published ones by their optima, and honest limits."""

import csv
import logging
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coevo.errors import ExtraMissingError
from coevo.problemkit import packing_solver
from coevo.problemkit.packing import check_packing, count_bins, first_fit_decreasing, sum_bound
from coevo.problemkit.packing_files import read_packings
from coevo.problemkit.packing_slack import fill_bins
from coevo.problemkit.packing_solver import Proof, prove_packing, solver_packing

needs_solver = pytest.mark.skipif(find_spec("ortools") is None, reason="OR-Tools is not installed")


def fewest_bins(sizes, capacity):
    """The optimum by trying, item by item, every bin in use and a new one."""
    order = sorted(sizes, reverse=True)

    def place(item, loads, best):
        if len(loads) >= best:
            return best
        if item == len(order):
            return len(loads)
        for number in range(len(loads)):
            if loads[number] + order[item] <= capacity and loads[number] not in loads[:number]:
                best = place(item + 1, [*loads[:number], loads[number] + order[item], *loads[number + 1 :]], best)
        return place(item + 1, [*loads, order[item]], best)

    return place(0, [], len(order) + 1)


@needs_solver
@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(3, 30), min_size=1, max_size=11), st.integers(30, 45))
def test_small_instances_are_solved_as_by_exhaustion(sizes, capacity):
    """A feasible packing with as many bins as the optimum, and a bound that equals it."""
    array = np.array(sizes, dtype=np.int64)
    proof = prove_packing(array, capacity, seconds=60)
    check_packing(proof.packing, array, capacity)
    assert proof.is_complete
    assert proof.bound == fewest_bins(sizes, capacity)


@needs_solver
def test_an_integer_program_proves_that_the_rounded_bound_is_not_reached():
    """Gau's instance: total size 259 in bins of 132, linear program below 2, and yet no two bins will do."""
    sizes = np.array([44, 44, 33, 33, 33, 12, 12, 12, 12, 12, 12])
    proof = prove_packing(sizes, 132, seconds=60)
    assert sum_bound(sizes, 132) == 2
    assert proof.is_complete
    assert proof.bound == fewest_bins(sizes.tolist(), 132) == 3


@given(st.lists(st.integers(1, 30), min_size=1, max_size=60), st.integers(30, 60), st.integers(0, 5))
def test_bins_filled_with_least_slack_hold_every_item_once(sizes, capacity, seed):
    """All items together, no bin above the capacity, the same again from the same seed."""
    widths, counts = np.unique(sizes, return_counts=True)
    widths, counts = widths[::-1].tolist(), counts[::-1]
    patterns = fill_bins(widths, counts, capacity, np.random.default_rng(seed))
    assert np.array_equal(np.sum(patterns, axis=0), counts)
    assert all(int(pattern @ widths) <= capacity for pattern in patterns)
    again = fill_bins(widths, counts, capacity, np.random.default_rng(seed))
    assert np.array_equal(patterns, again)


@pytest.mark.parametrize("name", ["binpack1", "binpack3"])
def test_published_optima_are_never_beaten_and_first_fit_decreasing_is_close(name, shared_data):
    """Neither the textbook rule nor the bound by size is on the wrong side of any optimum."""
    with (shared_data / "optima.csv").open() as file:
        optima = {row["file"]: int(row["value"]) for row in csv.DictReader(file)}
    for record in read_packings(shared_data / "bpp" / "orlib" / f"{name}.txt"):
        optimum = optima[f"bpp/orlib/{name}.txt#{record.name}"]
        packing = check_packing(first_fit_decreasing(record.sizes, record.capacity), record.sizes, record.capacity)
        assert sum_bound(record.sizes, record.capacity) <= optimum <= count_bins(packing) <= 1.02 * optimum + 1
        assert record.best >= optimum


@needs_solver
@pytest.mark.parametrize("index", [2, 8, 19, *(pytest.param(index, marks=pytest.mark.slow) for index in (0, 7, 17))])
def test_the_solver_reaches_published_optima(index, shared_data):
    """Instances of u120, two of which OR-Library states with one bin too many."""
    with (shared_data / "optima.csv").open() as file:
        optima = {row["file"]: int(row["value"]) for row in csv.DictReader(file)}
    record = read_packings(shared_data / "bpp" / "orlib" / "binpack1.txt")[index]
    proof = prove_packing(record.sizes, record.capacity, seconds=120)
    assert proof.is_complete
    assert proof.bound == optima[f"bpp/orlib/binpack1.txt#{record.name}"]
    check_packing(proof.packing, record.sizes, record.capacity)


@needs_solver
@pytest.mark.slow
def test_triplets_are_solved_by_the_integer_program(shared_data):
    """An instance of OR-Library's t60, whose 20 bins leave no room at all."""
    record = read_packings(shared_data / "bpp" / "orlib" / "binpack5.txt")[1]
    assert prove_packing(record.sizes, record.capacity, seconds=120).bound == 20


@needs_solver
def test_what_is_not_proven_is_said(caplog, monkeypatch):
    """Without time and without a table of patterns the packing is feasible, the bound holds, and the log warns."""
    sizes = np.array([6, 6, 6])
    monkeypatch.setattr(packing_solver, "_MOST_CELLS", 0)
    proof = prove_packing(sizes, 10, seconds=0.0)
    assert proof.bound == sum_bound(sizes, 10) < count_bins(proof.packing)
    assert not proof.is_complete
    with caplog.at_level(logging.WARNING):
        packing = solver_packing(sizes, 10, seconds=0.0)
    assert count_bins(check_packing(packing, sizes, 10)) == count_bins(proof.packing)
    assert "has 3 bins; proven is only that 2 are needed" in caplog.text


def test_a_proof_is_complete_where_bins_and_bound_meet():
    """Two bins are proven by a bound of two, not by one of one."""
    assert Proof(np.array([0, 1]), 2).is_complete
    assert not Proof(np.array([0, 1]), 1).is_complete


def test_a_missing_package_is_named(monkeypatch):
    """The message tells what to install."""
    monkeypatch.setitem(sys.modules, "ortools", None)
    monkeypatch.setitem(sys.modules, "ortools.linear_solver.python.model_builder", None)
    with pytest.raises(ExtraMissingError, match=r"ortools.*pip install 'coevo\[solvers\]'"):
        prove_packing(np.array([1]), 2, seconds=1.0)
