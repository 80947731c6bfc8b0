"""The same instances under other seeds: names, seeds, and what a pool makes of them."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.content import ProblemFolder
from coevo.evaluation import EvaluationPool
from coevo.evaluation.fresh_seeds import fresh, parse_split, reseeded
from coevo.interfaces import Instance

RANDOM = """
plain_objective = objective


def objective(instance, solution):
    return plain_objective(instance, solution) + np.random.default_rng(instance.seed).random()
"""


@given(st.text(max_size=20), st.integers(1, 1000))
def test_a_name_says_its_split_and_draw(split: str, draw: int) -> None:
    """Whatever the split is called, both are read back."""
    assert parse_split(fresh(split, draw)) == (split, draw)


@pytest.mark.parametrize("name", ["search", "my#split", "a#", "#", ""])
def test_another_name_is_a_split_of_its_own(name: str) -> None:
    """A mark that no number follows is part of the name."""
    assert parse_split(name) == (name, 0)


@given(st.lists(st.integers(0, 2**63 - 1), unique=True, max_size=20), st.integers(1, 50))
def test_only_the_seeds_are_fresh(seeds: list[int], draw: int) -> None:
    """Names and data stay; every seed changes, into one of 63 bits that no other instance has."""
    before = [Instance(str(seed), seed, {"x": np.zeros(1)}) for seed in seeds]
    after = reseeded(before, draw)
    assert [(each.name, id(each.data)) for each in after] == [(each.name, id(each.data)) for each in before]
    fresh_seeds = [each.seed for each in after]
    assert all(0 <= seed < 2**63 for seed in fresh_seeds)
    assert len(set(fresh_seeds) | set(seeds)) == 2 * len(seeds)
    assert reseeded(before, 0) == before


def test_the_seed_of_a_draw_never_changes() -> None:
    """A recorded value can be measured again by any later version."""
    assert reseeded([Instance("a", 1234, {})], 2)[0].seed == 3163997809442020738


def test_a_pool_measures_under_fresh_seeds(variant: Callable[[str], ProblemFolder]) -> None:
    """Objectives differ between draws and from the split's own, and are the same whenever a draw is asked for again."""
    problem = variant(RANDOM)
    with EvaluationPool(problem, workers=1) as pool:
        code = problem.baselines()["nearest"]
        own, first, second = (pool.evaluate(code, name).objectives for name in ("val", "val#1", "val#2"))
    with EvaluationPool(problem, workers=1) as pool:
        again = pool.evaluate(code, "val#1").objectives
    assert len({own, first, second}) == 3
    assert again == first
    module = problem.load()
    expected = [np.random.default_rng(i.seed).random() for i in reseeded(module.instances("val"), 1)]
    lengths = np.array(own) - [np.random.default_rng(i.seed).random() for i in module.instances("val")]
    assert first == pytest.approx(lengths + expected)


def test_a_split_may_be_called_like_fresh_seeds(toy: ProblemFolder) -> None:
    """A file's own name may end in the mark and a number: then it is those instances, under their own seeds."""
    code = toy.baselines()["nearest"]
    instances = toy.load().instances("val")
    with EvaluationPool(toy, workers=1, extra_splits={"inst#1": instances}) as pool:
        assert pool.evaluate(code, "inst#1").objectives == pool.evaluate(code, "val").objectives
