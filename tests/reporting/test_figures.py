import xml.etree.ElementTree as ElementTree

import pytest

from coevo.reporting import figures
from coevo.reporting.figures import settled
from coevo.reporting.telling import tell_run


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
        figures.progress, figures.valid_share, figures.mean_reward, figures.spending, figures.sigma,
        figures.update_length, figures.diversity, figures.population,
    ]  # fmt: skip
    assert [figure(story) for figure in made] == [None] * len(made)


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
        assert words in figures.update_length(tell_run(run.path)).caption
