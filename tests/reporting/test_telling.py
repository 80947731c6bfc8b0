import json
import math
import statistics

import pytest

from coevo.errors import RunError
from coevo.reporting import figures
from coevo.reporting.comparison import comparison_page
from coevo.reporting.run_page import run_page
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
        assert generation.candidates == len({e["candidate"] for e in children} - {None})
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
    assert (source.code, source.note) == (None, "the log names no such candidate")


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_results_come_from_events(whole_run, sign):
    """Objectives are those of verdicts and textbook events, names those of the first event, gaps follow from both."""
    story = tell_run(whole_run(sign=sign).path)
    known = {"search": 1.0, "val": 2.0}
    rows = {"best": story.splits} | {each.name: each.splits for each in story.comparisons}
    costs = {
        "best": {"search": 4.0, "val": 4.5}, "yardplain": {"search": 6.5, "val": 6.75},
        "bookplain": {"search": 6.5, "val": 6.75}, "failing": {"search": 7.0, "val": None},
    }  # fmt: skip
    assert {name: {s.split: s.objective and sign * s.objective for s in row} for name, row in rows.items()} == costs
    for split in (split for row in rows.values() for split in row):
        value, best = split.objective, known[split.split]
        assert split.gap == (None if value is None else pytest.approx(sign * (value - best) / best))
    assert [each.is_textbook for each in story.comparisons] == [False, True, True]


@pytest.mark.parametrize("change", [None, "edited", "spoilt", "gone"])
def test_a_finished_run_owes_nothing_to_its_result_file(whole_run, change):
    """Whatever `result.json` says, and without it, the story is the same: its numbers are those of events alone."""
    run = whole_run()
    file, before = run.path / "result.json", tell_run(run.path)
    if change == "edited":
        file.write_text(file.read_text().replace("123", "321").replace('"done"', '"target"'))
    if change == "spoilt":
        file.write_text("nonsense")
    if change == "gone":
        file.unlink()
    assert tell_run(run.path) == before


def test_a_baseline_that_a_child_repeats_has_the_childs_verdicts(run_maker):
    """A verdict is recorded once: that of a child stands for the baseline of the same code, in its own row too."""
    run = run_maker()
    code = "same = 1\n"
    identity = run.code(code)
    run.begin(references={"search": 2.0}, baselines={"own": identity, "unmeasured": "0" * 16})
    run.batch(0, "i1", [{"code": code, "cost": 3.0}])
    run.verdict(identity, 5.0, split="val")
    run.finish(identity)
    story = tell_run(run.path)
    (own,) = story.comparisons
    assert [(s.split, s.objective, s.gap) for s in own.splits] == [("search", 3.0, 0.5), ("val", 5.0, None)]
    assert own.splits == story.splits


def test_only_the_splits_that_were_asked_for_are_reported(run_maker):
    """A split that only chose is no result where the configuration names others."""
    run = run_maker(splits=["test"])
    run.begin()
    (best,) = run.batch(0, "i1", [{"code": "a = 1\n", "cost": 3.0}])
    run.verdict(best, 4.0, split="val")
    run.verdict(best, 5.0, split="test")
    run.finish(best)
    assert [(s.split, s.objective) for s in tell_run(run.path).splits] == [("test", 5.0)]


def test_only_an_interrupted_run_is_told_by_its_result(run_maker):
    """That a run was stopped on purpose is no event; that it can be resumed is said with where it comes from."""
    run = run_maker()
    run.begin()
    assert tell_run(run.path).status == "unfinished"
    run.directory.save_result({"status": "interrupted"})
    assert tell_run(run.path).status == "interrupted"


def test_a_random_problem_has_mean_and_spread(whole_run):
    """Under fresh seeds a split's value is the mean over them, with their standard deviation."""
    run = whole_run()
    best = tell_run(run.path).best.candidate
    values = [4.0, 5.0, 7.0]
    for draw in (3, 1, 2):
        run.verdict(best, values[draw - 1], split=f"val#{draw}")
    run.verdict(run.baseline, 9.0, split="val#1", role="baseline")
    story = tell_run(run.path)
    _, val = story.splits
    assert (val.objective, val.spread) == (statistics.mean(values), statistics.stdev(values))
    assert (story.comparisons[0].splits[1].objective, story.comparisons[0].splits[1].spread) == (9.0, None)


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


def test_a_generation_without_a_population_is_told(run_maker, read_page):
    """Whatever a search leaves open is legal: no best, no worst, no reward, no candidate, no cost, nothing chosen."""
    run = run_maker(method="sample", reward="rank")
    run.begin(references={}, first=0, mentor=None)
    nothing = {"code": None, "cost": None}
    for generation in (1, 2):
        run.batch(generation, "i1", [nothing, {"code": "boom()\n", "cost": None}], reward=None)
        run.step(generation - 1, generation, coefficients=[], rewards=[0.0, 0.0])
        run.emit("generation", generation=generation, best=None, worst=None, stop=None)
    for status in ("unfinished", "no-valid-candidate"):
        story = tell_run(run.path)
        assert [(each.best, each.worst, each.valid) for each in story.generations] == [(None, None, 0)] * 2
        assert (story.status, story.best, story.splits, story.reference) == (status, None, (), None)
        rows = read_page(run_page(story)).rows("Generations")
        assert [(row["best"], row["worst"]) for row in rows] == [("–", "–")] * 2
        assert "none" in comparison_page([story])
        run.finish(None, "no-valid-candidate")


def test_a_first_batch_without_a_valid_child_is_made_up_for(run_maker):
    """A population that begins empty is told from where it is not."""
    run = run_maker(method="sample")
    run.begin(first=0)
    run.batch(1, "i1", [{"code": None, "cost": None}], reward=None)
    run.emit("generation", generation=1, best=None, worst=None, stop=None)
    run.batch(2, "i1", [{"code": "a = 1\n", "cost": 3.0}], reward=-3.0)
    run.emit("generation", generation=2, best=3.0, worst=3.0, stop=None)
    story = tell_run(run.path)
    assert [each.best for each in story.generations] == [None, 3.0]
    rows = figures.population(story).table.rows
    assert [cell.value for cell in rows[-1][-2:]] == [3.0, 3.0]


def test_the_guard_has_its_story(whole_run, read_page):
    """What it refused, by which bound, and how far it narrowed σ stand on the page, as in the events."""
    run = whole_run()
    assert "The guard's decisions" not in read_page(run_page(tell_run(run.path))).tables
    run.guard(0, valid=0.75, bound=0.25, refused=False, scale=1.0)
    run.guard(1, valid=0.125, bound=0.25, refused=True, scale=0.5)
    page = read_page(run_page(tell_run(run.path)))
    rows = page.rows("The guard's decisions")
    names = ("step", "valid", "bound", "refused", "scale of σ and α after it")
    assert [tuple(row[name] for name in names) for row in rows] == [
        (0.0, 0.75, 0.25, "held", 1.0), (1.0, 0.125, 0.25, "refused", 0.5),
    ]  # fmt: skip
    assert page.curve("valid") == ([0.0, 1.0], [0.75, 0.125])
    assert "1 of 2 steps refused" in page.text
    assert "The guard has narrowed it to 0.5 of its schedule" in page.text


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
        {"kind": "generation", "generation": 1, "best": "low", "worst": None},
        {"kind": "guard", "step": 1, "valid": 0.5, "refused": True},
        {"kind": "textbook", "name": "a", "objectives": 3.0},
        {"kind": "started", "fingerprint": "0", "references": [1.0]},
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
