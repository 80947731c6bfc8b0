"""Online bin packing: the protocol against a plain one, published anchors, and what scores may be."""

import math
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coevo.errors import ConfigError, Infeasible
from coevo.interfaces import Instance


@pytest.fixture(scope="module")
def online(bundled):
    """The parts of the problem."""
    return bundled("bpp-online")


def to_instance(sizes, capacity=10):
    """An instance of given sizes."""
    return Instance("made", 0, {"sizes": np.array(sizes, dtype=np.int64), "capacity": capacity})


def plain_protocol(score, sizes, capacity):
    """The published protocol as it is worded: all bins there from the start, all that fit offered, in order."""
    left, packing = [capacity] * len(sizes), []
    for item in sizes:
        fitting = [number for number, room in enumerate(left) if room >= item]
        scores = list(score(item, np.array([left[number] for number in fitting], dtype=float)))
        number = fitting[scores.index(max(scores))]
        left[number] -= item
        packing.append(number)
    return packing


@settings(deadline=None)
@given(st.lists(st.integers(1, 10), min_size=1, max_size=25), st.integers(0, 2**32))
def test_the_protocol_is_the_published_one(online, sizes, seed):
    """For scores that depend on everything offered, some of them tied, bins are the same item by item."""

    def score(item, bins):
        return np.random.default_rng([seed, item, *bins.astype(int)]).integers(0, 5, len(bins))

    packing = online.problem.solve(score, to_instance(sizes))
    assert packing.tolist() == plain_protocol(score, sizes, 10)
    assert online.problem.objective(to_instance(sizes), packing) == len(set(packing.tolist()))


def test_solve_offers_what_is_described(online):
    """Item as int, rooms as float64, those that fit only, in order, untouched bins at the end."""
    calls = []

    def last(item, bins):
        calls.append((item, type(item), bins.tolist(), bins.dtype))
        return np.arange(len(bins))

    packing = online.problem.solve(last, to_instance([6, 5, 4]))
    assert packing.tolist() == [2, 1, 2]
    assert [(item, bins) for item, _, bins, _ in calls] == [(6, [10, 10, 10]), (5, [10, 10]), (4, [10, 5, 4])]
    assert {(kind, dtype) for _, kind, _, dtype in calls} == {(int, np.dtype(np.float64))}


@pytest.mark.parametrize(
    ("sizes", "best", "first"),
    [([1], 1, 1), ([10, 10], 2, 2), ([5, 5], 1, 1), ([6, 5, 5, 4], 2, 2), ([5, 6, 4, 5], 2, 3)],
)
def test_baselines_by_hand(online, sizes, best, first):
    """Full bins, halves, and a 4 that best fit puts beside the 6 but first fit beside the 5."""
    for name, bins in (("best_fit", best), ("first_fit", first)):
        instance = to_instance(sizes)
        assert online.problem.objective(instance, online.problem.solve(online.baselines[name], instance)) == bins


@pytest.mark.parametrize(("file", "first", "best"), [("or3", "5.74", "5.37"), ("weibull_5k_test", "4.23", "3.98")])
def test_published_excess_of_first_and_best_fit(online, file, first, best, shared_data):
    """Per cent above the bound by size, as FunSearch prints it; the ratio of means and the mean ratio round alike."""
    instances = online.problem.read(shared_data / "bpp" / "online" / f"{file}.json")
    bounds = np.array([math.ceil(each.data["sizes"].sum() / each.data["capacity"]) for each in instances])
    for name, printed in (("first_fit", first), ("best_fit", best)):
        heuristic = online.baselines[name]
        bins = np.array([online.problem.objective(each, online.problem.solve(heuristic, each)) for each in instances])
        assert f"{100 * (bins.mean() / bounds.mean() - 1):.2f}" == printed
        assert f"{100 * (bins / bounds - 1).mean():.2f}" == printed
    assert online.problem.read_reference(shared_data / "bpp" / "online" / f"{file}.json") == [None] * len(instances)


@pytest.mark.parametrize(
    ("split", "count", "items"), [("search", 8, 1000), ("val", 8, 1000), ("test1000", 64, 1000), ("test5000", 5, 5000)]
)
def test_sizes_are_weibull_rounded_and_cut_off(online, split, count, items):
    """Drawn again here from each instance's own seed; whole, from 1 to 100; and near the mean 45·Γ(4/3)."""
    instances = online.problem.instances(split)
    assert len(instances) == count
    for instance in instances:
        drawn = 45 * np.random.default_rng(instance.seed).weibull(3, items)
        assert instance.data["sizes"].tolist() == [max(1, round(min(size, 100))) for size in drawn]
        assert instance.data["capacity"] == 100
    everything = np.concatenate([instance.data["sizes"] for instance in instances])
    assert everything.mean() == pytest.approx(45 * math.gamma(4 / 3), abs=0.5)
    assert everything.min() >= 1
    assert everything.max() <= 100


def test_unknown_split_names_the_known_ones(online):
    """The message lists what could have been meant."""
    for function in (online.problem.instances, online.problem.reference):
        with pytest.raises(ConfigError, match=r"search, val, test1000, test5000.*got 'train'"):
            function("train")


def test_reference_is_the_bound_by_size(online):
    """Total size over capacity, rounded up, so that a gap is the excess that FunSearch reports."""
    reference = online.problem.reference("test5000")
    sums = [each.data["sizes"].sum() for each in online.problem.instances("test5000")]
    assert reference.tolist() == [math.ceil(total / 100) for total in sums]


@pytest.mark.parametrize("scores", [[np.inf, 1.0, 2.0], [3, 1, 2], np.array([2, 1, 1], dtype=np.uint8), [-np.inf] * 3])
def test_infinite_scores_have_an_order(online, scores):
    """The largest wins, the first of equals, and minus infinity may be all there is."""
    assert online.problem.solve(lambda item, bins: scores[: len(bins)], to_instance([4, 4, 4])).tolist() == [0, 0, 1]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_nan_is_refused_wherever_it_stands(online, place):
    """It would win every comparison of NumPy's."""
    scores = np.array([1.0, np.inf, 0.0])
    scores[place] = np.nan
    with pytest.raises(ValueError, match=rf"got NaN for bin {place} of 3"):
        online.problem.solve(lambda item, bins: scores, to_instance([4, 4, 4]))


@pytest.mark.parametrize(
    "value", [None, "abc", object(), [None] * 3, np.ones(3, dtype=bool), np.ones(3) * 1j, ["1"] * 3, True]
)
def test_what_is_no_array_of_real_numbers_is_refused(online, value):
    """Nothing, texts, booleans, complex numbers and objects."""
    with pytest.raises(TypeError, match="expected score to return an array of real numbers, got "):
        online.problem.solve(lambda item, bins: value, to_instance([4, 4, 4]))


@pytest.mark.parametrize("shape", [(), (2,), (4,), (3, 1), (1, 3), (0,)])
def test_another_shape_is_refused(online, shape):
    """One score per bin, neither fewer nor more."""
    with pytest.raises(ValueError, match="one number for each of 3 bins, got shape"):
        online.problem.solve(lambda item, bins: np.ones(shape), to_instance([4, 4, 4]))


def test_writing_to_the_bins_changes_nothing(online):
    """The array is the heuristic's own."""

    def spoil(item, bins):
        scores = item - bins
        bins[:] = 0
        return scores

    instance = online.problem.instances("search")[0]
    expected = online.problem.solve(online.baselines["best_fit"], instance)
    assert np.array_equal(online.problem.solve(spoil, instance), expected)


@pytest.mark.parametrize(
    ("bins", "message"),
    [
        ([0, 0, 1], "bin 0 holds 12"),
        ([0, 1], "one bin for each of 3"),
        ([0, 1, 3], "not one of 0 to 2"),
        ([0.0, 1, 2], "float64"),
    ],
)
def test_the_objective_trusts_nothing(online, bins, message):
    """Capacity, number of items, range and type are checked again, on integers."""
    with pytest.raises(Infeasible, match=message):
        online.problem.objective(to_instance([6, 6, 4]), np.array(bins))


def test_classics_know_the_future_and_draw(online):
    """First fit decreasing needs fewer bins than best fit online, and either packing can be drawn."""
    instance = online.problem.instances("search")[0]
    decreasing = online.problem.classics()["first fit decreasing"](instance)
    packing = online.problem.solve(online.baselines["best_fit"], instance)
    few, many = (int(online.problem.objective(instance, each)) for each in (decreasing, packing))
    assert few < many
    root = ElementTree.fromstring(online.problem.draw(instance, packing))
    assert root[0].text == f"search-0: 1000 items in {many} bins of 100"
    assert [child.tag.rpartition("}")[2] for child in root].count("rect") == 1000 + many
