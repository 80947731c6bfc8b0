"""The end of a search on a random problem: finalists are measured under fresh seeds."""

from concurrent.futures import Future
from dataclasses import replace

import pytest

from coevo.candidate import Evaluation
from coevo.errors import ConfigError
from coevo.evolution.population import Population
from coevo.searching.assemble import check_splits
from coevo.searching.config import make_config
from coevo.searching.examiner import Examiner
from coevo.searching.finish import FRESH_SEEDS, Reported, choose_best, draws, report, summarised


class TablePool:
    """Judges by a table from code and split to cost; what is not in it is infeasible."""

    def __init__(self, costs):
        self._costs = costs

    def submit(self, code, split="search"):
        """See `EvaluationPool`."""
        cost = self._costs.get((code, split))
        verdict = Evaluation("infeasible", "no") if cost is None else Evaluation("ok", cost=cost, objective=cost)
        future = Future()
        future.set_result(verdict)
        return future


@pytest.fixture
def random_tsp(tsp):
    """The travelling salesman, as if its objective were random."""
    return replace(tsp, spec=tsp.spec.model_copy(update={"is_random": True}))


@pytest.fixture
def examiner(log, run_directory):
    """Makes an examiner whose pool knows costs by (code, split)."""

    def make(costs):
        return Examiner(TablePool(costs), log, run_directory)

    return make


def test_a_finalist_is_chosen_by_its_mean_under_fresh_seeds(examiner, random_tsp, scored):
    """The candidate that was lucky under the instances' own seeds loses; one that fails under any fresh seed too."""
    lucky, steady, fragile = scored(1.0, "lucky"), scored(2.0, "steady"), scored(0.5, "fragile")
    costs = {("lucky", "val"): 1.0, ("steady", "val"): 2.0, ("fragile", "val"): 0.5}
    costs |= {("lucky", f"val#{draw}"): 3.0 for draw in range(1, FRESH_SEEDS + 1)}
    costs |= {("steady", f"val#{draw}"): 1.5 + draw / 10 for draw in range(1, FRESH_SEEDS + 1)}
    costs |= {("fragile", f"val#{draw}"): 0.1 for draw in range(1, FRESH_SEEDS)}
    population = Population(3).manage([lucky, steady, fragile])
    assert choose_best(population, examiner(costs), random_tsp) == steady


def test_the_report_gives_mean_and_spread(examiner, random_tsp, scored):
    """Each split is measured once per fresh seed; a split that failed under one of them is a failure."""
    names = [name for split in random_tsp.spec.splits for name in draws(random_tsp, split)]
    costs = {("chosen", name): 5.0 + int(name[-1]) for name in names}
    del costs["chosen", "test20#2"]
    findings = report(random_tsp, scored(1.0, "chosen"), examiner(costs), Reported(compare=False))
    assert len(names) == FRESH_SEEDS * len(random_tsp.spec.splits)
    assert (findings.splits["val"].objective, findings.splits["val"].spread) == (7.0, 1.0)
    assert findings.splits["test20"].objective is None


def test_a_problem_without_chance_has_no_spread(tsp):
    """It is measured once, under its own seeds, and the mean is that value to the bit."""
    assert draws(tsp, "val") == ["val"]
    result = summarised([0.1])
    assert (result.objective, result.spread) == (0.1, None)


def test_a_baseline_called_best_is_not_the_chosen_one(examiner, tsp, scored, monkeypatch, tmp_path):
    """Whatever a problem calls its baselines and textbook algorithms, every row keeps its own numbers."""
    (tmp_path / "baselines").mkdir()
    (tmp_path / "baselines" / "best.py").write_text("baseline")
    folder = replace(tsp, path=tmp_path)
    monkeypatch.setattr(type(folder), "load", lambda self: Textbook())
    costs = {(code, split): cost for code, cost in (("chosen", 1.0), ("baseline", 9.0)) for split in tsp.spec.splits}
    findings = report(folder, scored(1.0, "chosen"), examiner(costs), Reported())
    assert findings.splits["search"].objective == 1.0
    assert {name: row["search"].objective for name, row in findings.comparisons.items()} == {
        "best": 9.0,
        "best (textbook)": 5.0,
    }


class Textbook:
    """A problem of one instance whose textbook algorithm is called as its baseline is."""

    def instances(self, split):
        """See `Problem`."""
        return ["an instance"]

    def objective(self, instance, solution):
        """See `Problem`."""
        return solution

    def classics(self):
        """See `Problem`."""
        return {"best": lambda instance: 5.0}


def test_only_the_splits_that_are_wanted_are_measured(examiner, tsp, scored):
    """A grid reports some test sets; measuring the others would be time lost."""
    told = examiner({("chosen", "test20"): 4.0})
    findings = report(tsp, scored(1.0, "chosen"), told, Reported(("test20",), compare=False))
    assert {split: value.objective for split, value in findings.splits.items()} == {"test20": 4.0}
    check_splits(make_config({"budget": 5, "splits": ["test20"]}), tsp)
    with pytest.raises(ConfigError, match=r"expected splits among search, .*, got 'test7'"):
        check_splits(make_config({"budget": 5, "splits": ["test7"]}), tsp)
