"""The constructive knapsack: published anchors, the protocol of `solve`, and each way to be infeasible."""

import math
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.candidate import Candidate
from coevo.errors import ConfigError, Infeasible, InstanceFileError
from coevo.evolution.renderers import unreadable
from coevo.interfaces import Instance


@pytest.fixture(scope="module")
def kp(bundled):
    """The parts of the problem."""
    return bundled("kp")


def to_instance(capacity, weights, values=None):
    """An instance over given items; an item is worth 1 unless said otherwise."""
    values = [1.0] * len(weights) if values is None else values
    data = {"capacity": float(capacity), "weights": np.array(weights, float), "values": np.array(values, float)}
    return Instance("made", 0, data)


def scripted(*indices):
    """A heuristic that returns the given values, one per call."""
    values = iter(indices)
    return lambda remaining_capacity, weights, values_: next(values)


def plain_ratio_greedy(capacity, weights, values):
    """Total value of greedy by ratio, in one pass over the items sorted by it."""
    total, left = 0.0, capacity
    for item in sorted(range(len(weights)), key=lambda i: -values[i] / weights[i]):
        if weights[item] <= left:
            left -= weights[item]
            total += values[item]
    return total


def linear_bound(capacity, weights, values):
    """Dantzig's bound: fill by falling ratio, the first item that does not fit in part."""
    total, left = 0.0, capacity
    for item in sorted(range(len(weights)), key=lambda i: -values[i] / weights[i]):
        part = min(1.0, left / weights[item])
        total, left = total + part * values[item], left - part * weights[item]
    return total


def mean(function, instances):
    """Mean of a function (capacity, weights, values) over instances."""
    rows = [each.data for each in instances]
    return np.mean([function(d["capacity"], d["weights"].tolist(), d["values"].tolist()) for d in rows])


@pytest.mark.parametrize(
    ("split", "count", "items", "capacity"),
    [
        ("search", 64, 100, 25),
        ("val", 64, 100, 25),
        ("test50", 1000, 50, 12.5),
        ("test100", 1000, 100, 25),
        ("test200", 1000, 200, 25),
    ],
)
def test_splits_have_their_sizes(kp, split, count, items, capacity):
    """Number of instances and items, capacity, and uniform numbers."""
    instances = kp.problem.instances(split)
    assert len(instances) == count
    for name in ("weights", "values"):
        numbers = np.stack([each.data[name] for each in instances])
        assert numbers.shape == (count, items)
        assert numbers.min() >= 0
        assert numbers.max() < 1
        assert numbers.mean() == pytest.approx(0.5, abs=4 * np.sqrt(1 / 12 / numbers.size))
    assert {each.data["capacity"] for each in instances} == {capacity}


def test_no_number_is_shared_between_splits(kp):
    """Nothing of a test instance is seen by the search or by the choice of the best candidate."""
    sets = [{w for i in kp.problem.instances(split) for w in i.data["weights"].tolist()} for split in kp.problem.SPLITS]
    assert sum(map(len, sets)) == len(set().union(*sets))


def test_unknown_split_names_the_known_ones(kp):
    """The message lists what could have been meant."""
    for function in (kp.problem.instances, kp.problem.reference):
        with pytest.raises(ConfigError, match=r"search, val, test50, test100, test200.*got 'train'"):
            function("train")


@pytest.mark.parametrize(
    ("name", "capacity", "greedy", "bound"),
    [
        ("train100", 25.0, "40.145952", "40.233442"),
        ("test50", 12.5, "19.985126", "20.106929"),
        ("test100", 25.0, "40.224645", "40.318153"),
        ("test200", 25.0, "57.395341", "57.482418"),
    ],
)
def test_greedy_by_ratio_has_its_published_mean(kp, name, capacity, greedy, bound, shared_data):
    """On the published arrays, the anchor and the linear bound to the last digit; the baseline equals a plain loop."""
    instances = kp.problem.read(shared_data / "agentic_esopt_kp" / f"{name}_dataset.npy", capacity=capacity)
    heuristic = kp.baselines["ratio_greedy"]
    found = np.mean([kp.problem.objective(each, kp.problem.solve(heuristic, each)) for each in instances])
    assert f"{found:.6f}" == greedy
    assert found == pytest.approx(mean(plain_ratio_greedy, instances), abs=1e-12)
    assert f"{mean(linear_bound, instances):.6f}" == bound


def test_three_items_by_hand(kp):
    """Ratios 2, 1.5 and 1.4 in a knapsack of 10: greedy takes the first two (21), the optimum the last two (29)."""
    instance = to_instance(10, [3, 4, 6, 20], [6, 6 * 2.5, 14, 99])
    chosen = kp.problem.solve(kp.baselines["most_valuable"], instance)
    assert chosen.tolist() == [1, 2]
    assert kp.problem.objective(instance, chosen) == 29


def test_solve_calls_the_heuristic_as_described(kp):
    """Remaining capacity and all items left, also those too heavy, until none fits; the instance's own ids come out."""
    calls = []

    def last_fitting(remaining_capacity, weights, values):
        calls.append((remaining_capacity, weights.tolist(), values.tolist(), weights.dtype, values.dtype))
        return int(np.flatnonzero(weights <= remaining_capacity)[-1])

    chosen = kp.problem.solve(last_fitting, to_instance(10, [2, 9, 3, 4], [1, 2, 3, 4]))
    assert chosen.tolist() == [3, 2, 0]
    assert chosen.dtype == np.int64
    floats = np.dtype(np.float64)
    assert calls == [
        (10.0, [2, 9, 3, 4], [1, 2, 3, 4], floats, floats),
        (6.0, [2, 9, 3], [1, 2, 3], floats, floats),
        (3.0, [2, 9], [1, 2], floats, floats),
    ]


@pytest.mark.parametrize(("capacity", "weights"), [(5, []), (0, []), (5, [5.1, 6]), (0, [0.5])])
def test_nothing_to_choose_needs_no_call(kp, capacity, weights):
    """No item at all, or none that fits."""
    instance = to_instance(capacity, weights)
    chosen = kp.problem.solve(scripted(), instance)
    assert (chosen.tolist(), chosen.dtype) == ([], np.int64)
    assert kp.problem.objective(instance, chosen) == 0


def test_weightless_items_fit_into_a_full_knapsack(kp):
    """They are offered last of all, and every baseline takes them without a warning."""
    instance = to_instance(5, [5, 0, 0, 0.5], [1, 0, 3, 9])
    assert kp.problem.solve(scripted(0, 0, 0), instance).tolist() == [0, 1, 2]
    for heuristic in kp.baselines.values():
        assert {1, 2} < set(kp.problem.solve(heuristic, instance).tolist())


def test_the_last_item_may_be_an_epsilon_too_heavy(kp):
    """1 − 0.9 is less than 0.1 in floats; what rounding took away is forgiven, and nothing more."""
    assert 1 - 0.9 < 0.1
    assert kp.problem.solve(scripted(0, 0), to_instance(1, [0.9, 0.1])).tolist() == [0, 1]
    assert kp.problem.objective(to_instance(1, [0.9, 0.1]), np.array([0, 1])) == 2
    heavier = to_instance(1, [0.9, 0.1 + 1e-11])
    assert kp.problem.solve(scripted(0), heavier).tolist() == [0]
    with pytest.raises(Infeasible, match=r"the 2 items weigh 1\.00000000001, more than the capacity 1"):
        kp.problem.objective(heavier, np.array([0, 1]))


@pytest.mark.parametrize("value", [2, np.int32(2), np.uint8(2), np.array(2), np.array([2]), np.array([[2]])])
def test_solve_takes_any_integer_for_an_index(kp, value):
    """Python and NumPy integers, and integer arrays of size 1."""
    assert kp.problem.solve(scripted(value, 0, 0), to_instance(3, [1, 1, 1])).tolist() == [2, 0, 1]


@pytest.mark.parametrize(
    "value", [1.0, np.float64(1), np.array(1.0), True, np.True_, None, "1", np.array([0, 1]), np.array([None]), 1j, []]
)
def test_solve_refuses_what_is_no_integer(kp, value):
    """Whole floats, booleans and arrays of several indices are no index, as in the published evaluator."""
    with pytest.raises(TypeError, match="expected select_next_item to return an integer index, got "):
        kp.problem.solve(scripted(value), to_instance(3, [1, 1, 1]))


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ((-1,), "index -1 is none of the 3 remaining items, 0 to 2"),
        ((3,), "index 3 is none of the 3 remaining items, 0 to 2"),
        ((0, 2), "index 2 is none of the 2 remaining items, 0 to 1"),
        ((10**30,), "index 10{30} is none of the 3 remaining items"),
        ((2,), "item 2 weighs 4, more than the remaining capacity 3"),
        ((0, 1), "item 2 weighs 4, more than the remaining capacity 2"),
    ],
)
def test_an_impossible_choice_is_explained(kp, indices, message):
    """The whole solution is infeasible; nothing is kept."""
    with pytest.raises(Infeasible, match=message):
        kp.problem.solve(scripted(*indices), to_instance(3, [1, 1, 4]))


@pytest.mark.parametrize(
    ("solution", "message"),
    [
        (np.array([[0]]), r"1-D array of item ids, got shape \(1, 1\)"),
        (np.array(0), r"got shape \(\)"),
        (np.array([0.0]), "integer item ids, got float64"),
        (np.array([np.nan]), "integer item ids, got float64"),
        (np.array([True]), "integer item ids, got bool"),
        (np.array(["0"]), "integer item ids, got <U1"),
        (np.array([-1]), "item -1 at position 0 is not one of 0 to 2"),
        (np.array([0, 3]), "item 3 at position 1 is not one of 0 to 2"),
        (np.array([2**64 - 1], dtype=np.uint64), "item 18446744073709551615 at position 0 is not one of 0 to 2"),
        (np.array([1, 0, 1]), "item 1 is chosen 2 times"),
        (np.array([0, 2]), "the 2 items weigh 5, more than the capacity 3"),
    ],
)
def test_objective_refuses_what_is_no_packing(kp, solution, message):
    """Shape, type, range, repetition, weight; whatever array comes."""
    with pytest.raises(Infeasible, match=message):
        kp.problem.objective(to_instance(3, [1, 1, 4]), solution)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=9), st.floats(0, 3), st.randoms())
def test_any_fitting_choice_gives_a_packing(kp, items, capacity, random):
    """Whatever a heuristic picks of what fits: feasible, priced by its values, and no item left that fits."""
    instance = to_instance(capacity, [w for w, _ in items], [v for _, v in items])

    def pick(remaining_capacity, weights, values):
        return random.choice(np.flatnonzero(weights <= remaining_capacity + 1e-12))

    chosen = kp.problem.solve(pick, instance)
    value = kp.problem.objective(instance, chosen)
    assert value == math.fsum(items[i][1] for i in chosen)
    assert value == kp.problem.objective(instance, chosen[::-1])
    left = [w for i, (w, _) in enumerate(items) if i not in chosen]
    assert min(left, default=9.0) > capacity - math.fsum(items[i][0] for i in chosen)


def test_the_heuristic_cannot_write_to_its_inputs(kp):
    """Both arrays are read-only, for good, and the instance is unchanged after an attempt."""
    instance = to_instance(3, [1, 2])
    for name in ("weights", "values"):

        def write(remaining_capacity, name=name, **arrays):
            arrays[name][0] = 7

        def unlock(remaining_capacity, name=name, **arrays):
            arrays[name].flags.writeable = True

        for heuristic, message in ((write, "read-only"), (unlock, "WRITEABLE")):
            with pytest.raises(ValueError, match=message):
                kp.problem.solve(lambda c, w, v, use=heuristic: use(c, weights=w, values=v), instance)
    assert instance.data["weights"].tolist() == [1, 2]


def test_baselines_can_be_parents_of_the_embedded_model(kp):
    """The slot codec can show each of them."""
    for name, code in kp.folder.baselines().items():
        assert unreadable(kp.folder, Candidate(code)) == "", name


def test_files_become_instances(kp, tmp_path):
    """Names from the file, seeds by index, read-only data; the reference where the file states it."""
    (tmp_path / "small.txt").write_text("2 10\n6 5\n5 4\n1 1\n")
    (instance,) = kp.problem.read(tmp_path / "small.txt")
    assert (instance.name, instance.seed, instance.data["capacity"]) == ("small", 0, 10)
    assert not instance.data["weights"].flags.writeable
    assert kp.problem.objective(instance, kp.problem.solve(kp.baselines["ratio_greedy"], instance)) == 11
    assert kp.problem.read_reference(tmp_path / "small.txt") == [11]
    np.save(tmp_path / "many.npy", np.ones((2, 3, 2)))
    found = kp.problem.read(tmp_path / "many.npy", capacity=2.0)
    assert [(each.name, each.seed) for each in found] == [("many-0", 0), ("many-1", 1)]
    assert kp.problem.read_reference(tmp_path / "many.npy", capacity=2.0) is None
    with pytest.raises(InstanceFileError, match="expected a capacity"):
        kp.problem.read(tmp_path / "many.npy")


def test_items_heavier_than_the_knapsack_are_legal_in_files(kp, tmp_path):
    """They are offered, and never fit."""
    (tmp_path / "heavy").write_text("2 3\n9 50\n1 2\n")
    (instance,) = kp.problem.read(tmp_path / "heavy")
    assert kp.problem.solve(kp.baselines["most_valuable"], instance).tolist() == [1]


def test_drawing_shows_every_chosen_item(kp):
    """One bar per item and the frame, inside the picture; the title says weight and value."""
    instance = to_instance(10, [3, 4, 6], [6, 15, 14])
    root = ElementTree.fromstring(kp.problem.draw(instance, np.array([1, 2])))
    assert root[0].text == "made: 2 of 3 items, weight 10.0000 of 10, value 29.0000"
    boxes = [{name: float(each.get(name)) for name in ("x", "width")} for each in root[1:]]
    assert [(box["x"], box["width"]) for box in boxes] == [(16, 179.2), (195.2, 268.8), (16, 448)]
    with pytest.raises(Infeasible):
        kp.problem.draw(instance, np.array([0, 1, 2]))
    for empty in (to_instance(0, []), to_instance(0, [0, 1], [0, 0])):
        assert "<svg" in kp.problem.draw(empty, np.empty(0, dtype=np.int64))


def test_drawing_is_the_same_for_any_subset(kp):
    """Every feasible subset of a small instance can be drawn, and every infeasible one is refused."""
    instance = to_instance(5, [2, 3, 4])
    for size in range(4):
        for subset in combinations(range(3), size):
            items = np.array(subset, dtype=np.int64)
            if sum([2, 3, 4][i] for i in subset) <= 5:
                assert kp.problem.draw(instance, items).count("<rect") == size + 1
            else:
                with pytest.raises(Infeasible):
                    kp.problem.draw(instance, items)
