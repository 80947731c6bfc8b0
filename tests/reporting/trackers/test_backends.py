"""The four backends: those that are installed for real, without a network; what is asked of each on a stand-in."""

import importlib.util
import json
import subprocess
import sys
import types
from pathlib import Path

import pytest

from coevo.reporting.trackers.tracker import Tracked, tracker_named

pytestmark = pytest.mark.slow

STORY = """
import json, os, sys, warnings
from pathlib import Path
from coevo.reporting.trackers.tracker import Tracked, tracker_named

name, folder = sys.argv[1], Path(sys.argv[2])
config = {"budget": 200, "evolution_strategy": {"sigma": 0.005}}
first = tracker_named(name)
known = first.open(Tracked(folder, config))
first.log({"best/cost": 7.5, "asked/operator": 10.0}, 1)
first.finish()
second = tracker_named(name)
again = second.open(Tracked(folder, config, known))
second.log({"best/cost": 6.5, "asked/operator": 20.0}, 2)
second.keep("best.py", "def f(x):\\n    return x\\n")
second.finish()
print(json.dumps({"known": known, "again": again}))
"""


def installed(name):
    """A mark for tests that need a package; where it is missing, the stand-in is what is tested."""
    return pytest.mark.skipif(importlib.util.find_spec(name) is None, reason=f"{name} is not installed")


@pytest.fixture
def told(tmp_path):
    """Tells a run of two sessions to a real tracker in a process of its own, offline; its folder and what it said."""

    def tell(name, **environ):
        folder = tmp_path / "tsp-s0-1"
        folder.mkdir()
        own = {
            "PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(__file__).parents[3]), "HOME": str(tmp_path),
            "NO_PROXY": "*", "HTTPS_PROXY": "http://127.0.0.1:9", **environ,
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", STORY, name, str(folder)], env=own, cwd=tmp_path, capture_output=True, timeout=240
        )
        assert done.returncode == 0, done.stderr.decode()[-2000:]
        return folder, json.loads(done.stdout.decode().splitlines()[-1])

    return tell


@installed("tensorboard")
def test_tensorboard_reads_what_was_written(told):
    """Curves of both sessions in one place, and the code as a text."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    folder, _ = told("tensorboard")
    found = EventAccumulator(str(folder / "tensorboard")).Reload()
    assert [(point.step, point.value) for point in found.Scalars("best/cost")] == [(1, 7.5), (2, 6.5)]
    assert b"return x" in found.Tensors("best.py")[0].tensor_proto.string_val[0]


@installed("wandb")
def test_wandb_writes_offline(told):
    """Without a network or a key: two sessions of one run, with the code in one of them."""
    folder, said = told("wandb", WANDB_MODE="offline")
    assert said["known"] == said["again"]
    files = sorted((folder / "wandb").glob(f"offline-run-*/run-{said['known']}.wandb"))
    assert files
    assert any(b"return x" in file.read_bytes() for file in files)


@installed("mlflow")
def test_mlflow_keeps_both_sessions_in_one_run(told, tmp_path):
    """In a folder: parameters, points and the artifact."""
    _, said = told("mlflow", MLFLOW_TRACKING_URI=(tmp_path / "store").as_uri(), MLFLOW_ALLOW_FILE_STORE="true")
    assert said["known"] == said["again"]
    (run,) = (tmp_path / "store").glob(f"*/{said['known']}")
    points = (run / "metrics" / "best" / "cost").read_text().split()
    assert (points[1::3][:2], points[2::3][:2]) == (["7.5", "6.5"], ["1", "2"])
    assert (run / "artifacts" / "best.py").read_text().startswith("def f")
    assert (run / "params" / "coevo.evolution_strategy.sigma").read_text() == "0.005"


@installed("trackio")
def test_trackio_keeps_both_sessions(told):
    """In its own local database."""
    folder, said = told("trackio")
    assert said == {"known": folder.name, "again": folder.name}


class Recorded:
    """A stand-in that writes down every call, and answers with itself."""

    def __init__(self, calls, path=""):
        self._calls, self._path = calls, path

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Recorded(self._calls, f"{self._path}.{name}")

    def __call__(self, *args, **kwargs):
        """Note the call; another of the kind."""
        self._calls.append((self._path.lstrip("."), args, kwargs))
        return Recorded(self._calls, f"{self._path}()")

    def __setitem__(self, key, value):
        self._calls.append((f"{self._path.lstrip('.')}[]", (key, value), {}))


def stand_in(monkeypatch, name, **fields):
    """Puts a recording module in a package's place; its calls."""
    calls = []
    module = types.ModuleType(name)
    module.__spec__ = importlib.util.spec_from_loader(name, loader=None)
    record = Recorded(calls)
    module.__getattr__ = lambda attribute: getattr(record, attribute)
    for key, value in fields.items():
        setattr(module, key, value)
    monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, f"{name}.entities", module)
    return calls


def tell(name, folder):
    """A run of one session."""
    tracker = tracker_named(name)
    tracker.open(Tracked(folder, {"budget": 3}, "known"))
    tracker.log({"best/cost": 1.0}, 4)
    tracker.keep("best.py", "code")
    tracker.finish()


def test_a_run_that_is_active_in_wandb_is_joined_and_left_open(monkeypatch, tmp_path):
    """Nothing is begun, and nothing is finished."""
    joined = []
    stand_in(monkeypatch, "wandb", run=Recorded(joined))
    tell("wandb", tmp_path)
    names = [name for name, _, _ in joined]
    assert names == ["define_metric", "define_metric", "log", "summary[]"]
    assert joined[2][1] == ({"coevo/step": 4, "coevo/best/cost": 1.0},)


@pytest.mark.parametrize(("environ", "given"), [({}, "known"), ({"WANDB_RUN_ID": "outer"}, None)])
def test_wandb_goes_on_with_the_known_run_unless_the_environment_names_one(monkeypatch, tmp_path, environ, given):
    """WANDB_RUN_ID is read by wandb itself, so no other id is given."""
    for key, value in environ.items():
        monkeypatch.setenv(key, value)
    calls = stand_in(monkeypatch, "wandb", run=None)
    tell("wandb", tmp_path)
    (begun,) = [kwargs for name, _, kwargs in calls if name == "init"]
    assert begun.get("id") == given
    assert begun["resume"] == "allow"
    assert calls[-1][0].endswith("finish")


def test_a_run_that_is_active_in_mlflow_is_joined_and_left_open(monkeypatch, tmp_path):
    """Nothing is created, and nothing is terminated."""
    calls = stand_in(monkeypatch, "mlflow")
    tell("mlflow", tmp_path)
    names = [name.rpartition(".")[2] for name, _, _ in calls]
    assert "log_text" in names
    assert not {"create_run", "set_terminated"} & set(names)


def test_mlflow_takes_the_run_the_environment_names(monkeypatch, tmp_path):
    """MLFLOW_RUN_ID wins over what an earlier session had, and that run is ended as our own."""
    monkeypatch.setenv("MLFLOW_RUN_ID", "outer")
    calls = stand_in(monkeypatch, "mlflow", active_run=lambda: None)
    tell("mlflow", tmp_path)
    assert [args for name, args, _ in calls if name.endswith("get_run")] == [("outer",)]
    assert calls[-1][0].endswith("set_terminated")


def test_trackio_is_given_name_project_and_numbers(monkeypatch, tmp_path):
    """And goes on with the run it knew."""
    monkeypatch.delenv("TRACKIO_PROJECT", raising=False)
    calls = stand_in(monkeypatch, "trackio")
    tell("trackio", tmp_path)
    begun = calls[0][2]
    assert (begun["project"], begun["name"], begun["resume"]) == ("coevo", "known", "allow")
    assert ("init().log", ({"best/cost": 1.0},), {"step": 4}) in calls
