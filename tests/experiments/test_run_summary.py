import json
import math
import re

import pytest

from coevo.errors import RunError
from coevo.experiments.run_summary import OperatorNumbers, summarise
from coevo.records.run_directory import RunDirectory
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
    assert (found.wall_s, found.evaluator_search_s, found.evaluator_s) == (16.0, 1.75, 4.0)
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
        (lambda result: result["splits"]["test50"].update(gap=0.5), "splits.test50.gap = 0.6, .* got 0.5"),
        (lambda result: result["splits"]["test50"].update(gap=None), "splits.test50.gap = 0.6, .* got None"),
        (lambda result: result["splits"]["test50"].update(spread=0.1), "splits.test50.spread = None, .* got 0.1"),
        (lambda result: result["splits"].pop("test50"), "splits.test50.objective = 8.0, .* got nothing"),
        (lambda result: result["splits"].update(val=result["splits"]["test50"]), "splits.val.objective = nothing"),
        (lambda result: result["comparisons"].clear(), "comparisons.yardstick.search.objective = 6.0"),
        (lambda result: result["budget"].update(operator=2), "budget.operator = 3, .* got 2"),
        (lambda result: result["budget"].update(skill=0), "budget.skill = 2, .* got 0"),
        (lambda result: result["best"].update(candidate="first"), "best.candidate = second, .* got first"),
        (lambda result: result["best"].update(objective=5.0), "best.objective = 6.0, .* got 5.0"),
        (lambda result: result.update(best=None), "best.candidate = second, .* got nothing"),
        (lambda result: result.update(status="target"), "status = done, .* got target"),
        (lambda result: result.update(fingerprint="ab"), "fingerprint = 00000000000000aa, .* got ab"),
    ],
)
def test_a_result_that_its_events_do_not_support_is_refused(run, edit, message):
    """An edited number is named with what the events say."""
    rewrite(run, edit)
    with pytest.raises(RunError, match=message):
        summarise(run.path)


def rewrite(run, edit):
    """Edit a run's result as a hand would."""
    file = run.path / "result.json"
    result = json.loads(file.read_text())
    edit(result)
    file.write_text(json.dumps(result))


def leaves(values, path=()):
    """The path of every value of a result that is not a table."""
    for name, value in values.items():
        yield from leaves(value, (*path, name)) if isinstance(value, dict) and value else [(*path, name)]


def test_every_value_of_a_result_rests_on_events(run):
    """Whatever value is another one, but for the two that depend on the clock and on the place, the run is refused."""
    whole = (run.path / "result.json").read_text()
    changed = {"str": "target", "float": 0.125, "int": 7, "NoneType": 0.125, "list": ["another"]}
    paths = [path for path in leaves(json.loads(whole)) if path[0] not in ("wall_s", "run", "schema_version")]
    assert len(paths) > 15
    for path in paths:
        result = json.loads(whole)
        table = result
        for name in path[:-1]:
            table = table[name]
        table[path[-1]] = changed[type(table[path[-1]]).__name__]
        (run.path / "result.json").write_text(json.dumps(result))
        with pytest.raises(RunError, match=re.escape(f"expected {'.'.join(path)} = ")):
            summarise(run.path)


def test_a_result_of_a_run_that_has_not_ended_is_refused(run):
    """The last event is what makes a result final."""
    lines = run.events.read_text().splitlines(keepends=True)
    run.events.write_text("".join(lines[:-1]))
    with pytest.raises(RunError, match="expected no result of a run whose events do not end, got status done"):
        summarise(run.path)


def test_an_interrupted_result_is_a_snapshot(run):
    """A run that went on after it and was killed is as far as its events say."""
    rewrite(run, lambda result: result.update(status="interrupted", splits={}, budget={"operator": 1, "planned": 3}))
    found = summarise(run.path)
    assert (found.status, found.operator, found.splits) == ("interrupted", 3, {})


def test_a_run_without_a_valid_candidate_is_checked_too(tmp_path, write_run):
    """It has no best, no split, and its failures."""
    run = write_run(tmp_path, make_config({"budget": 3}), objective=None)
    found = summarise(run.path)
    assert (found.status, found.best, found.splits, found.valid) == ("no-valid-candidate", None, {}, 0)
    rewrite(run, lambda result: result.update(failures=["3 × timeout: "]))
    with pytest.raises(RunError, match="failures = "):
        summarise(run.path)


def test_a_gap_follows_the_sense_of_the_problem(tmp_path, write_run):
    """A maximised objective below its bound has a positive gap."""
    run = write_run(tmp_path, make_config({"problem": "kp", "budget": 3, "splits": ["test50"]}))
    assert summarise(run.path).splits["test50"].gap == (20.0 - 8.0) / 20.0


def test_a_clock_that_goes_back_takes_no_time(run):
    """As little as a pause."""
    run.events.write_text(run.events.read_text().replace('"time": 112.0', '"time": 90.0'))
    assert summarise(run.path).wall_s == 14.0


def test_a_probe_is_refused_by_name(tmp_path):
    """It has a result of another kind."""
    run = RunDirectory.create(tmp_path, "probe", {"kind": "probe"})
    run.events.write_text('{"kind": "started"}\n')
    with pytest.raises(RunError, match="expected a search, got a probe in "):
        summarise(run.path)


def test_a_random_problem_is_the_mean_over_its_fresh_seeds(run):
    """Verdicts under fresh seeds count in place of the one under the instances' own seeds; of a baseline, the first."""
    lines = run.events.read_text().splitlines()
    for draw, objective in ((1, 9.0), (2, 10.0)):
        for candidate, role in (("second", "candidate"), ("base", "baseline")):
            event = {"kind": "verdict", "candidate": candidate, "role": role, "split": f"test50#{draw}"}
            event |= {"cost": objective, "objective": objective, "clock": {"time": 904.0, "cpu_s": 1.0}}
            lines.insert(-1, json.dumps(event))
    run.events.write_text("\n".join(lines) + "\n")
    rewrite(run, lambda result: result["splits"]["test50"].update(objective=9.5, gap=0.9, spread=math.sqrt(0.5)))
    rewrite(run, lambda result: result["comparisons"]["yardstick"]["test50"].update(objective=9.0, gap=0.8))
    assert summarise(run.path).splits["test50"].spread == math.sqrt(0.5)
    rewrite(run, lambda result: result["splits"]["test50"].update(spread=0.7))
    with pytest.raises(RunError, match=r"splits.test50.spread = 0.707"):
        summarise(run.path)


def test_textbook_means_are_checked(run):
    """They are on record like verdicts."""
    lines = run.events.read_text().splitlines()
    event = {"kind": "textbook", "name": "greedy", "objectives": {"search": 7.5, "test50": None}}
    lines.insert(-1, json.dumps({**event, "clock": {"time": 904.0}}))
    run.events.write_text("\n".join(lines) + "\n")
    row = {"search": {"objective": 7.5, "gap": 0.5}, "test50": {"objective": None, "gap": None}}
    rewrite(run, lambda result: result["comparisons"].update(greedy=row))
    assert summarise(run.path).status == "done"
    row["search"]["objective"] = 7.25
    rewrite(run, lambda result: result["comparisons"].update(greedy=row))
    with pytest.raises(RunError, match=r"comparisons.greedy.search.objective = 7.5"):
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
