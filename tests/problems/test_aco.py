"""What both problems by ant colony have in common: splits, anchors, seeds, baselines, and what is refused."""

import re
from dataclasses import replace

import numpy as np
import pytest

from coevo.candidate import Candidate
from coevo.errors import ConfigError, Infeasible
from coevo.evolution.renderers import unreadable

MEANS = {"tsp-aco": 6.397343279505288, "cvrp-aco": 13.467404980432695}


@pytest.fixture(scope="module", params=MEANS)
def aco(bundled, request):
    """The parts of one of the problems."""
    return bundled(request.param)


def test_no_point_is_shared_between_splits(aco):
    """In the published arrays, test20 starts where test50 does; here it does not. The depot is everywhere."""
    sets = [{tuple(p) for i in each for p in i.data["coordinates"]} for each in aco.instances.values()]
    shared = set.intersection(*sets)
    assert shared <= {(0.5, 0.5)}
    assert sum(len(each - shared) for each in sets) == len(set().union(*sets) - shared)


def test_unknown_split_names_the_known_ones(aco):
    """The message lists what could have been meant."""
    for function in (aco.problem.instances, aco.problem.reference):
        with pytest.raises(ConfigError, match=r"search, val, test50, test100, test20.*got 'train'"):
            function("train")


def test_closeness_has_its_mean(aco):
    """An anchor: a change of the colony's rules, or of the order in which it draws, would move it."""
    closeness, instances = aco.baselines["closeness"], aco.instances["search"]
    objectives = [aco.problem.objective(i, aco.problem.solve(closeness, i)) for i in instances]
    assert np.mean(objectives) == pytest.approx(MEANS[aco.folder.spec.name], abs=1e-9)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda n: None, TypeError, "expected heuristics to return a matrix of numbers, got NoneType object"),
        (lambda n: np.ones((n, n), dtype=bool), TypeError, "got ndarray bool"),
        (lambda n: np.ones((n, n), dtype=complex), TypeError, "got ndarray complex128"),
        (lambda n: [["a"]], TypeError, "expected heuristics to return a matrix of numbers, got list <U1"),
        (lambda n: [[1, 2], [3]], ValueError, "inhomogeneous"),
        (lambda n: np.full((n, n), np.nan), Infeasible, "the weight at [0, 0] is nan"),
        (lambda n: np.full((n, n), np.inf), Infeasible, "the weight at [0, 0] is inf"),
        (lambda n: np.full((n, n), -np.inf), Infeasible, "the weight at [0, 0] is -inf"),
        (lambda n: np.ones((3, 3)), Infeasible, "expected a matrix of shape ({n}, {n}), got (3, 3)"),
        (lambda n: np.ones((n, n, 1)), Infeasible, "expected a matrix of shape ({n}, {n}), got ({n}, {n}, 1)"),
        (lambda n: np.ones(n), Infeasible, "expected a matrix of shape ({n}, {n}), got ({n},)"),
        (lambda n: 7, Infeasible, "expected a matrix of shape ({n}, {n}), got ()"),
    ],
)
def test_what_is_no_matrix_of_weights_is_refused(aco, make, error, message):
    """By `solve` if it is no array of numbers, by `objective` if it is one that means nothing."""
    instance = aco.instances["search"][0]
    size = len(instance.data["distance_matrix"])
    with pytest.raises(error, match=re.escape(message.format(n=size))):
        aco.problem.objective(instance, aco.problem.solve(lambda *arguments: make(size), instance))


def test_the_instance_seed_decides(aco):
    """The same seed gives the same objective, other seeds other ones; nothing else is random."""
    instance = aco.instances["search"][0]
    solution = aco.problem.solve(aco.baselines["closeness"], instance)
    values = [aco.problem.objective(replace(instance, seed=seed), solution) for seed in range(6)]
    assert aco.problem.objective(replace(instance, seed=3), solution) == values[3]
    assert len(set(values)) > 3
    assert np.isfinite(aco.problem.objective(replace(instance, seed=2**63 - 1), solution))


def test_baselines_can_be_parents_and_differ(aco):
    """The embedded model can be shown each of them, and none is a renamed other."""
    for code in aco.folder.baselines().values():
        assert unreadable(aco.folder, Candidate(code)) == ""
    instance = aco.instances["search"][0]
    assert len({aco.problem.solve(each, instance).tobytes() for each in aco.baselines.values()}) == 3
    assert next(iter(aco.folder.baselines())) == "closeness"
