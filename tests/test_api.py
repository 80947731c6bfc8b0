"""`coevo.search` and `coevo.tune`: whoever is to follow a run is told everything, as from the command line."""

import json
from pathlib import Path

import pytest

import coevo
from coevo.errors import ConfigError
from coevo.records.event_log import read_events
from coevo.records.run_directory import RunDirectory


@pytest.fixture
def start(tiny_problem, tiny_script, tmp_path):
    """Starts a small search or a small tuning run, by the name of the function."""
    moves = tmp_path / "moves.json"
    moves.write_text(json.dumps([{"text": f"set 1 {column} {digit}"} for column in (2, 4) for digit in (3, 6)]))
    members = {"members": 2, "children": 1}
    common = {"runs_dir": tmp_path / "runs", "engine": "scripted", "workers": 1, "evolution_strategy": members}

    def run(name, **more):
        if name == "search":
            sizes = {"budget": 20, "population": 5, "batch": 5, "compare": False, "model": str(tiny_script)}
            return coevo.search(str(tiny_problem), **common, **sizes, **more)
        return coevo.tune("sudoku", **common, generations=1, tasks=2, val_tasks=2, model=str(moves), **more)

    return run


@pytest.mark.parametrize("name", ["search", "tune"])
def test_listeners_and_trackers_are_told_of_a_run(name, start):
    """Each listener gets the events of the log, all of them and in order; a tracker by its name takes the numbers."""
    pytest.importorskip("tensorboard")
    one, two = [], []
    result = start(name, track="tensorboard", listeners=[one.append, two.append])
    recorded = list(read_events(Path(result.run) / "events.jsonl"))
    assert one == two
    assert json.loads(json.dumps(one)) == recorded
    assert recorded[-1]["kind"] == "finished"
    assert RunDirectory(Path(result.run)).trackers().keys() == {"tensorboard"}


@pytest.mark.parametrize("name", ["search", "tune"])
@pytest.mark.parametrize(("values", "said"), [
    ({"listeners": [3]}, "expected listeners"),
    ({"listeners": print}, "expected listeners"),
    ({"track": [3]}, "expected names of trackers, got 3"),
])  # fmt: skip
def test_what_cannot_follow_is_refused_before_anything_is_written(name, values, said, start, tmp_path):
    """In one line."""
    with pytest.raises(ConfigError, match=said):
        start(name, **values)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("name", ["search", "tune"])
@pytest.mark.parametrize("track", ["tensorbored", ["tensorbored"]])
def test_an_unknown_tracker_is_refused_before_anything_is_written(name, track, start, tmp_path):
    """One name may stand without a list around it; the whole name is quoted."""
    with pytest.raises(ConfigError, match="'tensorbored'"):
        start(name, track=track)
    assert not (tmp_path / "runs").exists()
