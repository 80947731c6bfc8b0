"""Whole runs: the same story whatever the number of engines, and with one of them killed in the middle."""

import os
import signal
from pathlib import Path

import pytest

from coevo.records.event_log import read_events
from coevo.searching.api import run_search
from coevo.searching.config import make_config
from coevo.tuning.api import run_tuning
from coevo.tuning.config import make_tune_config

pytestmark = pytest.mark.slow


def story(run):
    """The events without clock fields."""
    return [{k: v for k, v in event.items() if k != "clock"} for event in read_events(Path(run) / "events.jsonl")]


def outcome(result):
    """What a result says beside where and how long."""
    return result.model_dump(exclude={"run", "wall_s"})


def model_workers():
    """Process numbers of the model workers of this process."""
    found = []
    for children in Path("/proc/self/task").glob("*/children"):
        for pid in children.read_text().split():
            if b"coevo.engines.torch_worker" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(int(pid))
    return sorted(found)


def charged_ids(run):
    """What was charged, in order."""
    return [request["id"] for event in story(run) if event["kind"] == "asked" for request in event["requests"]]


@pytest.fixture(scope="module")
def search_with(tmp_path_factory):
    """Searches with so many engines and, if wanted, a listener."""

    def run(engines, listener=None, **values):
        given = {"budget": 32, "seed": 3, "workers": 2, "population": 8, "batch": 4, "compare": False}
        given |= {"splits": ("search",), "evolution_strategy": {"members": 4, "children": 2}, "engines": engines}
        config = make_config({**given, **values})
        listeners = (listener,) if listener else ()
        return run_search(config, runs_dir=tmp_path_factory.mktemp("runs"), listeners=listeners)

    return run


@pytest.fixture(scope="module")
def alone(search_with):
    """A search with one engine."""
    return search_with(1)


def test_a_search_is_the_same_with_two_engines(search_with, alone):
    """Events, result and final fingerprint agree; the weights have moved."""
    two = search_with(2)
    assert story(two.run) == story(alone.run)
    assert outcome(two) == outcome(alone)
    steps = [event["fingerprint"] for event in story(two.run) if event["kind"] == "step"]
    assert len(set(steps)) == len(steps) >= 2
    assert steps[-1] == two.fingerprint


def test_a_scripted_search_is_the_same_with_three_engines(search_with, tiny_problem, tiny_script):
    """Events and result agree for a script as well, whose weights are a chain of hashes."""
    values = {"problem": str(tiny_problem), "model": str(tiny_script), "engine": "scripted"}
    one, three = (search_with(engines, **values) for engines in (1, 3))
    assert story(three.run) == story(one.run)
    assert outcome(three) == outcome(one)


def test_a_killed_engine_changes_nothing(search_with, alone):
    """One engine's process killed while members answer: the same events, nothing charged twice, none left."""
    before, killed = model_workers(), []

    def kill(event):
        if event["kind"] == "completion" and event["id"].startswith("1.m1.") and len(killed) == 0:
            killed.append(next(pid for pid in model_workers() if pid not in before))
            os.kill(killed[0], signal.SIGKILL)

    hurt = search_with(2, kill)
    assert len(killed) == 1
    assert story(hurt.run) == story(alone.run)
    assert outcome(hurt) == outcome(alone)
    assert len(set(charged_ids(hurt.run))) == len(charged_ids(hurt.run)) == 32
    assert model_workers() == before


def test_a_tuning_run_is_the_same_with_two_engines(tmp_path):
    """Episodes in waves, scores, steps and the final fingerprint agree."""
    strategy = {"members": 4}
    values = {"env": "sudoku", "generations": 2, "tasks": 2, "every": 2, "val_tasks": 2, "workers": 2, "seed": 5}
    one, two = (
        run_tuning(
            make_tune_config({**values, "evolution_strategy": strategy, "engines": engines}),
            runs_dir=tmp_path / str(engines),
        )
        for engines in (1, 2)
    )
    assert story(two.run) == story(one.run)
    drop = {"peak_mb"}
    assert {k: v for k, v in outcome(two).items() if k not in drop} == {
        k: v for k, v in outcome(one).items() if k not in drop
    }
    assert any(event["kind"] == "step" for event in story(two.run))
