"""The split rules of WebArena-Lite, on lists of task ids and sites."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from coevo.environments.web.splits import NUM_VAL, split_tasks
from coevo.errors import ContentError

SITES = ["shopping", "reddit", "map", "gitlab"]


@st.composite
def worlds(draw):
    """Tasks with sites, and which of them are Lite's."""
    sites = draw(st.lists(st.sampled_from(SITES), min_size=3, max_size=120))
    lite = draw(st.sets(st.integers(0, len(sites) - 1), max_size=len(sites) - 2))
    return list(enumerate(sites)), lite


@given(worlds(), st.integers(0, 2**32), st.randoms(use_true_random=False))
def test_every_task_is_in_one_split_and_lite_is_the_test(world, seed, random):
    """Law: the splits are disjoint, hold everything, test is exactly Lite, and the order of the input says nothing."""
    tasks, lite = world
    splits = split_tasks(tasks, lite, num_val=1, seed=seed)
    assert sorted(splits["train"] + splits["val"] + splits["test"]) == [task for task, _ in tasks]
    assert splits["test"] == sorted(lite)
    assert len(splits["val"]) == 1
    random.shuffle(tasks)
    assert split_tasks(tasks, lite, num_val=1, seed=seed) == splits


@given(worlds())
def test_every_beginning_has_the_sites_in_proportion(world):
    """Law: the bound that the docstring gives for each site holds at every length."""
    tasks, lite = world
    splits = split_tasks(tasks, lite, num_val=1)
    order = [dict(tasks)[task] for task in splits["val"] + splits["train"]]
    for site in set(order):
        share = order.count(site) / len(order)
        slack = 0.5 + len(set(order)) * share / 2 + 1e-9
        for length in range(len(order) + 1):
            assert abs(order[:length].count(site) - share * length) <= slack


def test_the_published_sizes():
    """Of 812 tasks with 165 of Lite, 65 choose and 582 are learnt from; another seed orders them otherwise."""
    tasks = [(number, SITES[number % 4]) for number in range(812)]
    lite = [*range(0, 812, 5), 1, 2]
    splits = split_tasks(tasks, lite, seed=1)
    assert {name: len(ids) for name, ids in splits.items()} == {"train": 582, "val": NUM_VAL, "test": 165}
    assert split_tasks(tasks, lite, seed=2)["val"] != splits["val"]


@pytest.mark.parametrize(
    ("tasks", "lite", "words"),
    [
        ([(1, "map"), (1, "map")], [], "every task of WebArena once"),
        ([(1, "map"), (2, "map")], [3], r"missing: \[3\]"),
        ([(1, "map"), (2, "map")], [2], "more than 65 tasks"),
    ],
)
def test_lists_that_cannot_be_split_are_refused(tasks, lite, words):
    """A list with doubles, with unknown Lite tasks or with nothing to learn from names what is wrong."""
    with pytest.raises(ContentError, match=words):
        split_tasks(tasks, lite)
