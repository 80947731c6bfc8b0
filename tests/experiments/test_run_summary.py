import json

import pytest

from coevo.errors import RunError
from coevo.experiments.run_summary import OperatorNumbers, summarise
from coevo.searching.config import make_config


@pytest.fixture
def run(tmp_path, write_run):
    """A run of three children, two skill completions and one pause."""
    return write_run(tmp_path, make_config({"budget": 3}), skill=2)


def test_the_numbers_are_those_of_the_events(run):
    """Meters, tokens, times, validity and rewards, each counted by hand from the fixture's events."""
    found = summarise(run.path)
    assert (found.operator, found.on_top, found.skill, found.planned) == (3, 0, 2, 3)
    assert (found.status, found.best, found.tokens, found.children, found.valid) == ("done", 6.0, 21, 3, 2)
    assert (found.wall_s, found.evaluator_search_s, found.evaluator_s) == (16.0, 1.5, 3.5)
    assert found.operators == {"i1": OperatorNumbers(1, 1, 0.25), "m1": OperatorNumbers(2, 1, 0.25)}
    assert {split: value.objective for split, value in found.splits.items()} == {"search": 6.0, "test50": 8.0}
    assert len(found.events_sha256) == 64


def test_a_first_population_on_top_has_its_own_meter(tmp_path, write_run):
    """A published recipe does not charge generation 0."""
    run = write_run(tmp_path, make_config({"budget": 3, "charge_first": False}), finished=False)
    found = summarise(run.path)
    assert (found.operator, found.on_top) == (2, 1)


def test_a_run_without_a_result_is_unfinished(tmp_path, write_run):
    """Its numbers so far are there, its splits are not."""
    found = summarise(write_run(tmp_path, make_config({"budget": 3}), finished=False).path)
    assert (found.status, found.operator, found.best, found.splits) == ("unfinished", 3, 6.0, {})


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda result: result["splits"]["test50"].update(objective=7.9), "splits.test50.objective = 8.0.* got 7.9"),
        (lambda result: result["budget"].update(operator=2), "budget.operator = 3, .* got 2"),
        (lambda result: result["budget"].update(skill=0), "budget.skill = 2, .* got 0"),
        (lambda result: result["best"].update(candidate="first"), "splits.search.objective = 7.0"),
    ],
)
def test_a_result_that_its_events_do_not_support_is_refused(run, edit, message):
    """An edited number is named with what the events say."""
    file = run.path / "result.json"
    result = json.loads(file.read_text())
    edit(result)
    file.write_text(json.dumps(result))
    with pytest.raises(RunError, match=message):
        summarise(run.path)


def test_a_random_problem_is_the_mean_over_its_fresh_seeds(run):
    """Verdicts under fresh seeds count in place of the one under the instances' own seeds."""
    verdict = {"kind": "verdict", "candidate": "second", "role": "candidate", "cost": 1.0, "clock": {"time": 905.0}}
    with run.events.open("a") as file:
        for draw, objective in ((1, 9.0), (2, 10.0)):
            event = {**verdict, "split": f"test50#{draw}", "objective": objective}
            file.write(json.dumps({**event, "clock": {"time": 905.0, "cpu_s": 1.0}}) + "\n")
    with pytest.raises(RunError, match=r"splits.test50.objective = 9.5"):
        summarise(run.path)


def test_events_of_another_form_are_refused(run):
    """An event that lacks a field is named."""
    run.events.write_text(run.events.read_text().replace('"tokens": 7, ', ""))
    with pytest.raises(RunError, match="expected events of this version, got one without 'tokens'"):
        summarise(run.path)


def test_a_run_that_has_not_begun_is_refused(run):
    """With what to do."""
    run.events.unlink()
    (run.path / "result.json").unlink()
    with pytest.raises(RunError, match="to have begun, found no event"):
        summarise(run.path)
