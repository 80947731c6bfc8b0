"""Optimal knapsacks: what is stored, what bounds it, and the programs that find it."""

import csv
import sys
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.content import find_problem, load_module
from coevo.errors import ExtraMissingError
from coevo.interfaces import Instance

SPLITS = ("search", "val", "test50", "test100", "test200")


@pytest.fixture(scope="module")
def kp():
    """The problem: `problem` (its module), `branch_and_bound` (what computed the optima)."""
    folder = find_problem("kp")
    solve_exactly = load_module(folder.path / "optima" / "branch_and_bound.py").solve_exactly
    problem = folder.load()
    # Compiled here, because compiling within an example would look like a slow one to Hypothesis.
    solve_exactly(1.0, np.ones(1), np.ones(1))
    problem.classics()["greedy from every first item (Sahni)"](to_instance(1, [(1, 1)]))
    return SimpleNamespace(
        problem=problem,
        ratio_greedy=load_module(folder.path / "baselines" / "ratio_greedy.py").select_next_item,
        branch_and_bound=lambda i: solve_exactly(i.data["capacity"], i.data["weights"], i.data["values"]),
    )


@pytest.fixture
def ortools():
    """Skips where OR-Tools is missing."""
    pytest.importorskip("ortools", reason="OR-Tools is not installed; it only checks the stored optima")


def to_instance(capacity, items):
    """An instance over (weight, value) pairs."""
    weights, values = np.array(items, dtype=float).reshape(len(items), 2).T.copy()
    return Instance("made", 0, {"capacity": float(capacity), "weights": weights, "values": values})


def enumerate_all(instance):
    """The largest value, by trying every subset."""
    weights, values = instance.data["weights"].tolist(), instance.data["values"].tolist()
    subsets = [[i for i, flag in enumerate(flags) if flag] for flags in product((0, 1), repeat=len(weights))]
    return max(sum(values[i] for i in s) for s in subsets if sum(weights[i] for i in s) <= instance.data["capacity"])


def slow_sahni(instance):
    """Value of greedy from every first item, in plain Python."""
    weights, values = instance.data["weights"].tolist(), instance.data["values"].tolist()
    ratios = [value / weight if weight else np.inf for weight, value in zip(weights, values, strict=True)]
    order = sorted(range(len(weights)), key=lambda i: -ratios[i])
    best = 0.0
    for start in [[], *([i] for i in order if weights[i] <= instance.data["capacity"])]:
        chosen = list(start)
        for item in order:
            if item not in chosen and sum(weights[i] for i in [*chosen, item]) <= instance.data["capacity"]:
                chosen.append(item)
        best = max(best, sum(values[i] for i in chosen))
    return best


WHOLE = st.tuples(st.integers(0, 9), st.integers(0, 9))
small_instances = st.builds(to_instance, st.integers(0, 25), st.lists(WHOLE, max_size=8))
"""Whole numbers, so that plain sums are exact: ties, zeros, items heavier than the knapsack, no items."""


@pytest.mark.parametrize("split", SPLITS)
def test_reference_is_one_value_per_instance(kp, split):
    """float64, finite, positive, in instance order, and not above the sum of the values."""
    reference, instances = kp.problem.reference(split), kp.problem.instances(split)
    assert reference.dtype == np.float64
    assert reference.shape == (len(instances),)
    assert np.all((reference > 0) & (reference < [each.data["values"].sum() for each in instances]))


@pytest.mark.parametrize("split", SPLITS)
def test_reference_lies_between_greedy_and_the_linear_bound(kp, split):
    """Instance by instance: greedy and Sahni below; greedy's prefix and a part of the next item above."""
    sahni = kp.problem.classics()["greedy from every first item (Sahni)"]
    for best, each in zip(kp.problem.reference(split), kp.problem.instances(split), strict=True):
        weights, values = each.data["weights"], each.data["values"]
        order = np.argsort(-values / weights)
        filled = np.cumsum(weights[order])
        bound = np.interp(each.data["capacity"], np.r_[0, filled], np.r_[0, np.cumsum(values[order])])
        improved = kp.problem.objective(each, sahni(each))
        assert kp.problem.objective(each, kp.problem.solve(kp.ratio_greedy, each)) <= improved + 1e-12
        assert improved - 1e-12 <= best <= bound + 1e-12


@pytest.mark.parametrize("split", SPLITS)
def test_reference_is_what_branch_and_bound_finds(kp, split):
    """The first instances again, from scratch."""
    instances = kp.problem.instances(split)[:20]
    found = [kp.problem.objective(each, kp.branch_and_bound(each)) for each in instances]
    assert found == kp.problem.reference(split)[:20].tolist()


@pytest.mark.usefixtures("ortools")
@pytest.mark.parametrize("split", SPLITS)
def test_reference_agrees_with_ortools(kp, split):
    """Every tenth instance, with integers of 53 bits that represent the floats exactly."""
    solve = kp.problem.solvers()["ortools"]
    found = [kp.problem.objective(each, solve(each)) for each in kp.problem.instances(split)[::10]]
    assert found == kp.problem.reference(split)[::10].tolist()


@given(small_instances)
def test_branch_and_bound_agrees_with_enumeration(kp, instance):
    """On instances small enough to try every subset."""
    chosen = kp.branch_and_bound(instance)
    assert kp.problem.objective(instance, chosen) == enumerate_all(instance)


@pytest.mark.usefixtures("ortools")
@given(small_instances)
def test_ortools_agrees_with_enumeration(kp, instance):
    """On the same instances, empty ones and those where nothing fits included."""
    chosen = kp.problem.solvers()["ortools"](instance)
    assert chosen.dtype == np.int64
    assert kp.problem.objective(instance, chosen) == enumerate_all(instance)


@pytest.mark.usefixtures("ortools")
@pytest.mark.parametrize("scale", [2.0**-60, 2.0**-30, 1.0, 2.0**40, 1e15, 1e-300, 1e300])
def test_ortools_takes_floats_of_any_size(kp, scale):
    """The answer does not depend on the unit of weights or values, and always fits."""
    drawn = np.random.default_rng(5).random((30, 2))
    expected = kp.problem.solvers()["ortools"](to_instance(4, drawn)).tolist()
    for factors in ((scale, 1.0), (1.0, scale), (scale, scale)):
        instance = to_instance(4 * factors[0], drawn * factors)
        assert kp.problem.solvers()["ortools"](instance).tolist() == expected


@pytest.mark.usefixtures("ortools")
def test_ortools_stays_feasible_where_it_has_to_round(kp):
    """Numbers of very different size cannot be scaled to 64-bit integers exactly: rounded to the safe side."""
    instance = to_instance(1e18 + 4096, [(1e18, 1e18), (1e-3, 1e-3), (4096.0, 1.0), (2e18, 9e18)])
    chosen = kp.problem.solvers()["ortools"](instance)
    assert 0 in chosen
    assert instance.data["weights"][chosen].sum() <= instance.data["capacity"]


def test_missing_ortools_is_reported_when_asked_for(kp, monkeypatch):
    """The message says what to install."""
    monkeypatch.setitem(sys.modules, "ortools.algorithms.python.knapsack_solver", None)
    with pytest.raises(ExtraMissingError, match=r"pip install 'coevo\[solvers\]'"):
        kp.problem.solvers()["ortools"](to_instance(1, [(1, 1)]))


@given(small_instances)
def test_sahni_agrees_with_a_plain_version(kp, instance):
    """The same value, and at least half of the optimum."""
    sahni = kp.problem.classics()["greedy from every first item (Sahni)"]
    value = kp.problem.objective(instance, sahni(instance))
    assert value == slow_sahni(instance)
    assert 2 * value >= enumerate_all(instance)


def test_sahni_kernel_is_its_python_function(kp):
    """Compiled and interpreted, bit for bit, on random floats of odd sizes."""
    kernel = kp.problem.sahni.complete_greedily
    for size in (0, 1, 2, 3, 17):
        weights, values = np.random.default_rng(size).random((2, size))
        order = np.argsort(-values / weights, kind="stable")
        compiled = kernel(order, weights, values, size / 4)
        assert compiled.tolist() == kernel.py_func(order, weights, values, size / 4).tolist()


def test_more_than_greedy_is_needed_and_found(kp):
    """The textbook's bad case: greedy takes the small item (2) and leaves no room for the large one (100)."""
    instance = to_instance(100, [(1, 2), (100, 100)])
    sahni = kp.problem.classics()["greedy from every first item (Sahni)"]
    assert kp.problem.objective(instance, kp.problem.solve(kp.ratio_greedy, instance)) == 2
    assert sahni(instance).tolist() == kp.branch_and_bound(instance).tolist() == [1]


@pytest.mark.usefixtures("ortools")
def test_published_optima_are_reproduced(kp, shared_data):
    """Low-dimensional, Pisinger's and Jooken's files."""
    with (shared_data / "optima.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["kind"] == "kp"]
    for row in rows:
        (instance,) = kp.problem.read(shared_data / row["file"])
        solution = kp.problem.solvers()["ortools"](instance)
        assert kp.problem.objective(instance, solution) == float(row["value"]), row["file"]
