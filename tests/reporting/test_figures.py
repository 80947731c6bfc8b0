import xml.etree.ElementTree as ElementTree

import pytest

from coevo.candidate import Candidate, Evaluation
from coevo.reporting import figures, movement
from coevo.reporting.figures import settled
from coevo.reporting.telling import tell_run
from coevo.searching.breeding import Child
from coevo.searching.rewards import child_rewards


def test_a_settled_curve_begins_with_the_value_in_force():
    """What held at five per cent of the budget is kept, what was before it is not; a late first value is kept too."""
    assert settled([1, 4, 50], [9.0, 8.0, 7.0], 100) == [8.0, 7.0]
    assert settled([40, 50], [9.0, 8.0], 100) == [9.0, 8.0]
    assert settled([1], [9.0], 10) == [9.0]


def test_the_gap_axis_reads_the_same_as_the_objective(whole_run):
    """At the height of 400 % on the right, the left axis says five times the best known, which is 1."""
    tree = ElementTree.fromstring(figures.progress(tell_run(whole_run().path)).drawing)
    heights = {text.text: float(text.get("y")) for text in tree.iter("text") if text.get("class") is None}
    per_unit = (heights["8"] - heights["4"]) / 4
    assert heights["4"] + per_unit == pytest.approx(heights["400 %"], abs=0.1)


def test_a_maximised_objective_has_its_gap_the_other_way_up(whole_run):
    """What is larger is better and has the smaller gap; the best is highest."""
    tree = ElementTree.fromstring(figures.progress(tell_run(whole_run(sign=-1.0).path)).drawing)
    group = next(each for each in tree.iter("g") if each.get("data-series"))
    pixels = [float(pair.split(",")[1]) for pair in group.find("path").get("d")[1:].split("L")]
    assert pixels == sorted(pixels, reverse=True)
    marks = [
        (float(t.text.rstrip(" %").replace("−", "-")), float(t.get("y"))) for t in tree.iter("text") if "%" in t.text
    ]
    assert sorted(marks) == sorted(marks, key=lambda mark: mark[1])


def test_what_the_events_do_not_tell_has_no_figure(run_maker):
    """A run that has just begun has no figure at all."""
    run = run_maker()
    run.begin()
    story = tell_run(run.path)
    made = [
        figures.progress, figures.valid_share, figures.mean_reward, figures.spending, figures.diversity,
        figures.population,
    ]  # fmt: skip
    assert [figure(story) for figure in made] == [None] * len(made)
    assert movement.movement(story) == []


def test_completions_that_await_their_verdict_are_shown(run_maker):
    """What was asked but is no child yet is a part of its operator's bar."""
    run = run_maker()
    run.begin()
    run.batch(0, "i1", [{"code": "a = 1\n", "cost": 3.0}])
    run.emit("asked", operator="i1", generation=0, requests=[{"id": "0.i1.1"}])
    assert 'data-row="i1" data-part="not judged yet" data-value="1"' in figures.spending(tell_run(run.path)).drawing


def test_the_update_is_named_for_what_it_is(run_maker):
    """In a guided basis the length is that of coordinates, not of weights; subspaces are named."""
    for settings, words in (({}, "one weight"), ({"evolution_strategy": {"subspaces": 2}}, "root of 2 subspaces")):
        run = run_maker(**settings)
        run.begin()
        run.step(0, 1, coefficients=[0.3, -0.4], rewards=[1.0, 3.0])
        assert words in movement.update_length(tell_run(run.path)).caption


SETTINGS = [
    {"method": method, "reward": reward, "copies": copies}
    for method in ("eoh", "grammar", "sample")
    for reward in ("difference", "cost", "rank")
    for copies in ("zero", "invalid")
    if (method, reward) != ("sample", "difference")
]


@pytest.fixture
def earn(scored):
    """What children of given costs earn; their parents cost 6 and 8, and "copy" is one that copies the worse."""

    def rewards(settings, *costs):
        parents = () if settings["method"] == "sample" else (scored(6.0), scored(8.0))
        identities = tuple(parent.candidate.identity for parent in parents)
        children = []
        for place, cost in enumerate(costs):
            code, value = (parents[1].candidate.code, 8.0) if cost == "copy" else (f"# child {place}\n", cost)
            verdict = Evaluation("crash") if value is None else Evaluation("ok", cost=value, objective=value)
            children.append(Child(Candidate(code, parents=identities), verdict, parents, None))
        return child_rewards(children, 10.0, settings["reward"], settings["copies"])

    return rewards


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda each: "-".join(each.values()))
def test_the_reward_is_what_its_caption_says(run_maker, earn, settings):
    """Each sentence stands in the caption if, and only if, it holds for what children earn under these settings."""
    run = run_maker(**settings)
    run.begin()
    run.batch(1, "e1", [{"code": "a = 1\n", "cost": 4.0}], reward=2.0)
    caption = figures.mean_reward(tell_run(run.path)).caption
    good, bad, failed = earn(settings, 2.0, 20.0, None)
    holds = {
        "earns minus its cost.": (good, bad) == (-2.0, -20.0),
        "its rank in its batch, from −½ to ½": (good, bad) == (0.5, -0.5),
        "minus its own, but never less than that parent's cost minus the worst": (good, bad) == (4.0, -4.0),
        "An invalid child earns less than every valid one": failed < min(good, bad),
    }
    if settings["method"] != "sample":
        copy, other, failed = earn(settings, "copy", 7.0, None)
        holds["A copy of a parent earns as little as an invalid child."] = copy == failed
        holds["A copy of a parent counts as a difference of 0."] = copy > other
    assert {sentence: sentence in caption for sentence in holds} == holds
    assert settings["method"] != "sample" or "parent" not in caption
