import json
import math
import statistics

import pytest

from coevo.errors import RunError
from coevo.reporting.telling import tell_run


def test_the_curve_is_the_running_minimum(whole_run):
    """Recomputed from the raw children: place by place, the least cost so far; the objective has the problem's sign."""
    run = whole_run(sign=-1.0)
    best, expected = math.inf, []
    for place, child in enumerate((e for e in run.events() if e["kind"] == "child"), 1):
        if child["cost"] is not None and child["cost"] < best:
            best = child["cost"]
            expected.append((place, child["candidate"], child["operator"], best, -best))
    story = tell_run(run.path)
    assert [(i.place, i.candidate, i.operator, i.cost, i.objective) for i in story.improvements] == expected
    assert story.sense == "max"


def test_every_completion_is_accounted_for(whole_run):
    """Asked, answered, tokens and cut-off answers agree with the events; the fates add up to the children."""
    run = whole_run()
    events = run.events()
    story = tell_run(run.path)
    asked = {e["operator"]: 0 for e in events if e["kind"] == "asked"}
    of = {}
    for event in (e for e in events if e["kind"] == "asked"):
        asked[event["operator"]] += len(event["requests"])
        of |= {request["id"]: event["operator"] for request in event["requests"]}
    for use in story.operators:
        answers = [e for e in events if e["kind"] == "completion" and of[e["id"]] == use.operator]
        children = [e for e in events if e["kind"] == "child" and e["operator"] == use.operator]
        assert (use.asked, use.answered) == (asked[use.operator], len(answers))
        assert use.tokens == sum(e["tokens"] for e in answers)
        assert use.cut_off == sum(e["finish"] == "length" for e in answers)
        assert sum(use.fates.values()) == len(children)
    assert story.budget.operator + story.budget.skill == sum(asked.values())
    assert (story.budget.skill, story.budget.planned) == (1, 12)


def test_what_became_of_each_child(whole_run):
    """A copy of a parent, a repeat of an earlier child, a failure and a new program are told apart."""
    fates = [child.fate for child in tell_run(whole_run().path).children]
    assert fates == ["new", "new", "new", "failed", "copy", "failed", "new", "repeat", "new", "new", "new", "failed"]


def test_batches_and_generations(whole_run):
    """Valid children, rewards and different programs and costs agree with the raw events of each batch."""
    run = whole_run()
    story = tell_run(run.path)
    for told in (e for e in run.events() if e["kind"] == "batch"):
        own = next(b for b in story.batches if (b.generation, b.operator) == (told["generation"], told["operator"]))
        assert (own.children, own.valid, own.reward) == (told["children"], told["valid"], told["reward"])
    for generation in story.generations:
        children = [e for e in run.events() if e["kind"] == "child" and e["generation"] == generation.generation]
        assert generation.programs == len({e["candidate"] for e in children} - {None})
        assert generation.costs == len({e["cost"] for e in children} - {None})
    assert [(g.best, g.worst) for g in story.generations] == [(None, None), (5.0, 8.0), (4.0, 6.0)]


def test_steps(whole_run):
    """An update's length is the root of its summed squares, 0 where the weights stayed; rewards in mean and spread."""
    first, second = tell_run(whole_run().path).steps
    assert first.length == pytest.approx(0.5)
    assert (first.mean_reward, first.spread) == (2.0, 1.0)
    assert (second.length, second.is_applied) == (0.0, False)
    assert tell_run(whole_run().path).fingerprints == ("0" * 16, f"{2:016x}")


def test_subspaces_shorten_the_change_of_a_weight(run_maker):
    """With K subspaces a weight is moved by 1/K of the members."""
    run = run_maker()
    run.begin()
    run.emit("step", step=0, generation=1, operator="m1", sigma=0.1, coefficients=[3.0, 4.0], rewards=[1.0, 2.0],
             applied=True, fingerprint="1" * 16, subspace_count=4)  # fmt: skip
    assert tell_run(run.path).steps[0].length == 2.5


def test_the_lineage_goes_back_to_a_first_program(whole_run):
    """Each step is a child of the one before, which is the better of its parents; the first has none."""
    run = whole_run()
    story = tell_run(run.path)
    objectives = [ancestor.objective for ancestor in story.lineage]
    assert objectives == [6.0, 5.0, 4.0]
    assert [ancestor.parent for ancestor in story.lineage] == [None, *(a.source.identity for a in story.lineage[:-1])]
    assert story.lineage[1].others == (story.children[0].candidate,)
    last = [(line.kind, line.text) for line in story.lineage[-1].diff if line.kind in "+-"]
    assert last == [("-", "c = 3  # plain"), ("+", "c = 4"), ("+", "d = 5")]


def test_a_changed_program_is_not_shown_as_the_runs(whole_run):
    """A source that no longer has its hash, or is gone, is named instead of shown."""
    run = whole_run()
    best = tell_run(run.path).best.candidate
    file = run.path / "candidates" / f"{best}.py"
    file.write_text("something else\n")
    story = tell_run(run.path)
    assert (story.source.code, story.lineage[-1].diff) == (None, ())
    assert "has changed" in story.source.note
    file.unlink()
    assert "is missing" in tell_run(run.path).source.note


def test_a_candidate_names_no_file_elsewhere(run_maker, tmp_path):
    """An identity that is no hash leads to no path."""
    (tmp_path / "secret.py").write_text("secret\n")
    run = run_maker()
    run.begin()
    run.emit("asked", operator="i1", generation=0, requests=[{"id": "0.i1.0"}])
    run.verdict("../../../secret", 1.0)
    source = tell_run(run.path).source
    assert (source.code, source.note) == (None, "the log names no such program")


def test_results_come_from_verdicts(whole_run):
    """A yardstick whose verdicts bear out the result is marked as recorded, one without events is not."""
    story = tell_run(whole_run().path)
    assert [(s.split, s.objective) for s in story.splits] == [("search", 4.0), ("val", 4.5)]
    recorded, textbook = story.comparisons
    assert ([s.objective for s in recorded.splits], recorded.is_recorded) == ([6.5, 6.75], True)
    assert (textbook.name, textbook.is_recorded) == ("textbook", False)


def test_a_result_that_verdicts_do_not_bear_out_gives_no_gap(whole_run):
    """The objective is that of the verdict, and the gap of an edited result is left out."""
    run = whole_run()
    values = json.loads((run.path / "result.json").read_text())
    values["splits"]["val"]["objective"] = 1.0
    (run.path / "result.json").write_text(json.dumps(values))
    search, val = tell_run(run.path).splits
    assert (search.gap, val.objective, val.gap) == (0.125, 4.5, None)


def test_a_random_problem_has_mean_and_spread(whole_run):
    """Under fresh seeds a split's value is the mean over them, with their standard deviation."""
    run = whole_run()
    best = tell_run(run.path).best.candidate
    values = [4.0, 5.0, 7.0]
    for draw, value in enumerate(values, 1):
        run.verdict(best, value, split=f"val#{draw}")
    _, val = tell_run(run.path).splits
    assert (val.objective, val.spread) == (statistics.mean(values), statistics.stdev(values))


def test_an_unfinished_run_tells_what_is_there(run_maker):
    """A log that ends in the middle of a batch gives the best so far and what was asked but not answered."""
    run = run_maker()
    run.begin()
    run.batch(0, "i1", [{"code": "a = 1\n", "cost": 3.0}, {"code": "b = 1\n", "cost": 2.0}])
    run.emit("asked", operator="e1", generation=1, requests=[{"id": f"1.e1.{n}"} for n in range(2)])
    with run.directory.events.open("a") as file:
        file.write('{"kind":"completion","id":"1.e1')
    story = tell_run(run.path)
    assert (story.status, story.best.cost, story.is_chosen) == ("unfinished", 2.0, False)
    assert (story.budget.operator, story.operators[1].asked, story.operators[1].answered) == (4, 2, 0)
    assert story.splits == ()


def test_a_run_that_has_just_begun(run_maker):
    """Without any event there is a story without a best."""
    story = tell_run(run_maker().path)
    assert (story.best, story.children, story.lineage, story.hours) == (None, (), (), 0.0)


def test_a_first_population_on_top_has_no_place(run_maker):
    """What is not charged has no place in the budget."""
    run = run_maker(charge_first=False)
    run.begin()
    run.batch(0, "i1", [{"code": "a = 1\n", "cost": 3.0}])
    run.batch(1, "e1", [{"code": "b = 1\n", "cost": 2.0}])
    story = tell_run(run.path)
    assert [child.place for child in story.children] == [0, 1]
    assert [i.place for i in story.improvements] == [0, 1]
    assert (story.budget.operator, story.budget.on_top, story.budget.planned) == (1, 1, 10)


def test_the_users_own_heuristic_is_the_start(run_maker):
    """A candidate judged before anything was asked has the operator "start", no place, and no child."""
    run = run_maker()
    run.begin()
    own = run.code("mine = 1\n")
    run.verdict(own, 5.0)
    (child,) = run.batch(0, "i1", [{"code": "yours = 1\n", "cost": 4.0, "parents": [own]}])
    story = tell_run(run.path)
    assert [(i.operator, i.place) for i in story.improvements] == [("start", 0), ("i1", 1)]
    assert [(a.source.identity, a.child is None) for a in story.lineage] == [(own, True), (child, False)]


def test_pauses_do_not_count_as_time(run_maker):
    """The time before a run was resumed is left out."""
    run = run_maker()
    run.begin()
    run.emit("asked", operator="i1", generation=0, requests=[])
    run._time += 5000.0
    run.emit("resumed")
    run.emit("asked", operator="e1", generation=1, requests=[])
    story = tell_run(run.path)
    assert (story.hours * 3600, story.resumed) == (pytest.approx(2.0), 1)


def test_the_skill_has_a_history(whole_run):
    """Versions in order, with the change of their text and the refused edits."""
    first, second = tell_run(whole_run().path).skills
    assert (first.version, first.use, first.avoid) == (1, ("argmin",), ("plain",))
    assert (first.traces, first.lessons, first.levels) == (4, 2, 2)
    assert first.rejected == (("plain", "too long"),)
    changed = [(line.kind, line.text) for line in second.diff if line.kind in "+-"]
    assert changed == [("-", "plain"), ("+", "Other plain")]


@pytest.mark.parametrize(
    "event",
    [
        {"kind": "child", "id": "0.i1.0"},
        {"kind": "step", "step": "x"},
        {"kind": "verdict", "candidate": "a", "split": "search", "role": "candidate", "cost": "low"},
        {"kind": "asked", "operator": "i1", "generation": 0, "requests": 3},
        {"kind": "skill", "version": 1, "rejected": 1},
        {"kind": "completion", "id": "1", "text": "", "finish": "stop", "tokens": None},
    ],
)
def test_an_edited_log_is_refused(run_maker, event):
    """An event that lacks what this version writes is named."""
    run = run_maker()
    run.begin()
    run.directory.events.open("a").close()
    with run.directory.events.open("a") as file:
        file.write(json.dumps(event) + "\n")
    with pytest.raises(RunError, match=f"expected a {event['kind']} event"):
        tell_run(run.path)


def test_events_of_another_kind_are_passed_over(run_maker):
    """What a page does not show does not stop it."""
    run = run_maker()
    run.begin()
    run.emit("novelty", anything=1)
    assert tell_run(run.path).status == "unfinished"
