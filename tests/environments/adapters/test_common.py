import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.environments.adapters.common import MOST_TASKS, optional, plain, seeded_tasks
from coevo.errors import ConfigError, ExtraMissingError

SIZES = st.dictionaries(st.sampled_from(["train", "val", "test"]), st.integers(1, 20), min_size=1)


@given(SIZES)
def test_no_two_splits_share_a_seed(sizes):
    """Whatever their sizes: every task of every split has a seed of its own."""
    tasks = [task for split in sizes for task in seeded_tasks(split, sizes, id="game")]
    assert len({task.data["seed"] for task in tasks}) == len({task.name for task in tasks}) == sum(sizes.values())
    assert {task.data["id"] for task in tasks} == {"game"}


@given(SIZES, st.integers(1, 20))
def test_another_size_moves_no_other_split(sizes, size):
    """What was held out stays held out."""
    first, *others = sizes
    for split in others:
        assert seeded_tasks(split, sizes) == seeded_tasks(split, {**sizes, first: size})


@pytest.mark.parametrize("sizes", [{}, {"train": 0}, {"train": MOST_TASKS + 1}])
def test_a_size_that_cannot_be_is_refused(sizes):
    """Nothing, or more than a split has seeds."""
    with pytest.raises(ConfigError, match=r"expected a size of 1 to 1,000,000 for the split 'train'"):
        seeded_tasks("train", sizes)


def test_a_missing_package_is_named_with_its_extra():
    """And with what it was for."""
    with pytest.raises(ExtraMissingError, match=r"no_such_package for games, .*pip install 'coevo\[agents\]'"):
        optional("no_such_package.part", "games")


def test_what_is_plain_is_kept_for_the_trace():
    """NumPy's scalars become Python's; arrays, objects, long texts and what is not finite are left out."""
    info = {"a": np.float64(1.5), "b": np.bool_(True), "c": "text", 4: 4, "d": np.zeros(3), "e": float("inf")}
    kept = plain(info | {"f": "x" * 5000, "g": object(), "h": None, "i": np.array(2)})
    assert kept == {"a": 1.5, "b": True, "c": "text", "4": 4, "i": 2}
    assert [type(kept[name]) for name in "abi"] == [float, bool, int]
