"""Whole runs with engines and judges on two nodes: the same story as on this machine, whatever dies in the middle."""

import os
import signal

import pytest

from coevo.searching.api import run_search
from coevo.searching.config import make_config
from coevo.tuning.api import run_tuning
from coevo.tuning.config import make_tune_config

pytestmark = pytest.mark.slow

FORM = {
    "budget": 32, "seed": 3, "workers": 2, "population": 8, "batch": 4, "compare": False, "splits": ("search",),
    "evolution_strategy": {"members": 4, "children": 2},
}  # fmt: skip


@pytest.fixture(scope="module")
def search(tmp_path_factory):
    """Runs a search with these settings and, if wanted, a listener."""

    def run(listener=None, **values):
        listeners = (listener,) if listener else ()
        return run_search(
            make_config({**FORM, **values}), runs_dir=tmp_path_factory.mktemp("runs"), listeners=listeners
        )

    return run


@pytest.fixture(scope="module")
def alone(search):
    """A search with the embedded model on this machine."""
    return search()


@pytest.fixture(scope="module")
def scripted(tiny_problem, tiny_script):
    """Settings of a search with a script, on a problem of the user's."""
    return {"problem": str(tiny_problem), "model": str(tiny_script), "engine": "scripted"}


@pytest.fixture
def is_same(story, outcome):
    """Holds a run against one on this machine: events, result, fingerprints, and what was charged."""

    def check(found, expected):
        assert story(found.run) == story(expected.run)
        assert outcome(found) == outcome(expected)
        charged = [r["id"] for e in story(found.run) if e["kind"] == "asked" for r in e["requests"]]
        assert len(set(charged)) == len(charged) == FORM["budget"]
        steps = [event["fingerprint"] for event in story(found.run) if event["kind"] == "step"]
        assert len(set(steps)) == len(steps) >= 2
        assert steps[-1] == found.fingerprint

    return check


def once(kind, prefix, act):
    """A listener that acts at the first event of a kind whose id begins so; and the list of what it came to."""
    done = []

    def take(event):
        if not done and event["kind"] == kind and str(event.get("id", "")).startswith(prefix):
            done.append(act())

    return take, done


def kill_one(pids):
    """Kill the first of these processes."""
    os.kill(pids[0], signal.SIGKILL)
    return pids[0]


def test_a_search_on_a_cluster_is_the_same(search, alone, nodes, two, is_same):
    """The embedded model, two engines, two judges; actors were at work on the nodes, and are gone."""
    take, seen = once("completion", "1.m1.", lambda: [pid for node in two for pid in node.engines() + node.judges()])
    found = search(take, engines=2, ray=nodes.address)
    assert len(seen[0]) == 4
    is_same(found, alone)


def test_a_scripted_search_on_a_cluster_is_the_same(search, scripted, nodes, two, is_same):
    """So is one with a script, whose weights are a chain of hashes; one engine is a fleet of one."""
    expected = search(**scripted)
    is_same(search(engines=1, ray=nodes.address, **scripted), expected)


def test_killed_actors_change_nothing(search, alone, nodes, two, is_same, caplog):
    """An engine's actor killed while members answer, and a judge's: others do their work, once."""

    def kill():
        return kill_one([pid for node in two for pid in node.engines()]), kill_one(
            [pid for node in two for pid in node.judges()]
        )

    take, killed = once("completion", "1.m1.", kill)
    is_same(search(take, engines=2, ray=nodes.address), alone)
    assert len(set(killed[0])) == 2
    assert "it is opened anew" in caplog.text


def test_a_lost_node_changes_nothing(search, alone, nodes, two, is_same, caplog):
    """A whole node killed while members answer: what it held is opened on the other one."""

    def end():
        held = two[1].engines() + two[1].judges()
        nodes.end(two[1])
        return held

    take, held = once("completion", "1.m1.", end)
    is_same(search(take, engines=2, ray=nodes.address), alone)
    assert held[0]
    assert "anew" in caplog.text


def test_a_tuning_run_on_a_cluster_is_the_same(nodes, two, story, outcome, tmp_path):
    """Episodes in waves, scores, steps and the final fingerprint agree, with two engines on the nodes."""
    values = {"env": "sudoku", "generations": 2, "tasks": 2, "every": 2, "val_tasks": 2, "workers": 2, "seed": 5}
    values |= {"evolution_strategy": {"members": 4}}
    one, other = (
        run_tuning(make_tune_config(values | where), runs_dir=tmp_path / name)
        for name, where in (("one", {}), ("two", {"engines": 2, "ray": nodes.address}))
    )
    assert story(other.run) == story(one.run)
    assert outcome(other) == outcome(one)
    assert any(event["kind"] == "step" for event in story(other.run))
