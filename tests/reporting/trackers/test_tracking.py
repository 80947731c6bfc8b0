"""What is told to a tracker, when, and that nothing a tracker does hurts a run."""

import logging
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.errors import ConfigError, ExtraMissingError
from coevo.records.run_directory import RunDirectory
from coevo.reporting.trackers.metrics import readings
from coevo.reporting.trackers.tracker import tracker_named
from coevo.reporting.trackers.tracking import Tracking, tracking, tracking_again
from coevo.searching.api import resume_search, run_search
from coevo.searching.config import make_config


class Notebook:
    """A tracker that remembers; it can be told to fail or to hang."""

    def __init__(self, failing=(), hang=None):
        self.opened, self.logged, self.kept = [], [], {}
        self.is_finished = False
        self._failing, self._hang = failing, hang

    def open(self, run):
        """See `Tracker`."""
        self._maybe("open")
        self.opened.append(run)
        return f"notebook-{run.name}"

    def log(self, metrics, step):
        """See `Tracker`."""
        self._maybe("log")
        self.logged.append((step, dict(metrics)))

    def keep(self, name, text):
        """See `Tracker`."""
        self._maybe("keep")
        self.kept[name] = text

    def finish(self):
        """See `Tracker`."""
        self._maybe("finish")
        self.is_finished = True

    def _maybe(self, what):
        if self._hang is not None and what != "open":
            self._hang.wait()
        if what in self._failing:
            raise ConnectionError(f"no network for {what}\nat all")


@pytest.fixture
def config(tiny_problem, tiny_script):
    """A small search."""
    return make_config(
        {
            "problem": str(tiny_problem), "engine": "scripted", "model": str(tiny_script), "budget": 60, "workers": 1,
            "compare": False, "evolution_strategy": {"members": 2, "children": 1}, "population": 5, "batch": 5,
        }
    )  # fmt: skip


def a_search(generations=3):
    """Events of a small search, as far as they are read."""
    yield {"kind": "started"}
    best = 9.0
    for generation in range(1, generations + 1):
        best -= 1
        yield {"kind": "asked", "operator": "e1", "generation": generation, "requests": [{}, {}]}
        yield {"kind": "verdict", "role": "candidate", "split": "search", "cost": best, "objective": -best}
        yield {
            "kind": "batch", "operator": "e1", "generation": generation, "children": 2, "valid": 1, "distinct": 2,
            "reward": None,
        }  # fmt: skip
        yield {"kind": "step", "generation": generation, "sigma": 0.1, "rewards": [1.0, 3.0]}
        yield {"kind": "generation", "generation": generation, "best": best, "worst": 9.0, "stop": None}
    yield {"kind": "finished", "status": "done", "best": "x"}


def test_a_search_becomes_one_reading_for_each_generation():
    """Sums, the best so far, what each operator made, and how the model moved."""
    told = list(readings(a_search()))
    assert [step for step, _ in told] == [1, 2, 3]
    assert told[-1][1] == {
        "asked/operator": 6, "best/cost": 6.0, "best/objective": -6.0, "e1/children": 2, "e1/valid": 1,
        "e1/distinct": 2, "es/sigma": 0.1, "es/reward": 2.0, "population/best": 6.0, "population/worst": 9.0,
    }  # fmt: skip


def test_what_is_no_number_is_left_out():
    """Missing means, infinities, flags and texts are no points of a curve."""
    odd = {"kind": "measured", "generation": 4, "split": "val", "label": ".chosen", "mean": None, "error": 0.5}
    assert list(readings([{**odd, "turns": float("inf"), "flag": True, "ended": {"done": 3}}])) == [
        (4, {"val_chosen/error": 0.5})
    ]


MEASURED = st.builds(
    lambda generation, mean: {"kind": "measured", "generation": generation, "split": "val", "label": "", "mean": mean},
    st.integers(0, 50),
    st.floats(0, 1),
)


@given(events=st.lists(MEASURED, max_size=30))
def test_steps_never_go_back(events):
    """Some trackers drop what comes late: the weights chosen are measured after later generations."""
    steps = [step for step, _ in readings(events)]
    assert steps == sorted(steps)
    assert len(steps) == len(events)


@given(cut=st.integers(0, 17))
def test_readings_of_a_part_are_part_of_the_readings(cut):
    """What has been told does not depend on what follows."""
    events = list(a_search())
    part, whole = list(readings(events[:cut])), list(readings(events))
    assert part == whole[: len(part)]


@pytest.mark.slow
def test_a_run_is_told_from_its_name_to_its_best_code(config, tmp_path):
    """The tracker is opened with name and configuration and finished with the best heuristic."""
    book = Notebook()
    result = run_search(config, runs_dir=tmp_path, listeners=(Tracking("book", book),))
    run = Path(result.run)
    (opened,) = book.opened
    assert (opened.name, opened.config["budget"], opened.known_as) == (run.name, 60, "")
    assert book.kept == {"best.py": (run / "best.py").read_text()}
    assert book.is_finished
    assert book.logged[-1][1]["asked/operator"] == 60
    assert RunDirectory(run).trackers() == {"book": f"notebook-{run.name}"}


@pytest.mark.slow
def test_a_resumed_run_says_nothing_twice_and_leaves_nothing_out(config, tmp_path):
    """Interrupted and resumed, both sessions together have told what an uninterrupted run tells."""
    whole, first, second = Notebook(), Notebook(), Notebook()
    run_search(config, runs_dir=tmp_path / "whole", listeners=(Tracking("book", whole),))
    count = 0

    def interrupt(event):
        nonlocal count
        count += event["kind"] == "child"
        if count == 32:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_search(config, runs_dir=tmp_path / "cut", listeners=(Tracking("book", first), interrupt))
    run = next((tmp_path / "cut").iterdir())
    resume_search(run, listeners=(Tracking("book", second),))
    assert first.logged
    assert second.logged
    assert first.logged + second.logged == whole.logged
    assert second.opened[0].known_as == f"notebook-{run.name}"


@pytest.mark.slow
@pytest.mark.parametrize("what", ["open", "log", "keep", "finish"])
def test_a_tracker_that_fails_is_warned_of_once_and_dropped(config, tmp_path, caplog, what):
    """The run ends as without it, on one line of warning."""
    with caplog.at_level(logging.WARNING):
        result = run_search(config, runs_dir=tmp_path, listeners=(Tracking("book", Notebook(failing=(what,))),))
    assert result.status == "done"
    (warned,) = [record.getMessage() for record in caplog.records if "book" in record.getMessage()]
    assert warned.endswith(f"ConnectionError: no network for {what} at all")


@pytest.mark.slow
def test_a_tracker_that_hangs_is_left_behind(config, tmp_path, caplog):
    """A network that never answers delays the end by its patience, and no more."""
    hang = threading.Event()
    tracking_ = Tracking("book", Notebook(hang=hang), patience_s=0.05)
    try:
        assert run_search(config, runs_dir=tmp_path, listeners=(tracking_,)).status == "done"
        assert "left behind" in caplog.text
    finally:
        hang.set()
        for thread in threading.enumerate():
            if thread.name == "coevo-book":
                thread.join(60)


def test_an_unknown_tracker_is_refused(tmp_path):
    """With the names there are."""
    with pytest.raises(ConfigError, match=r"tensorboard, wandb, mlflow, trackio for --track, got 'neptune'"):
        tracking(["neptune"])


def test_a_missing_package_names_the_extra(monkeypatch):
    """Before anything is started."""
    monkeypatch.setattr("coevo.reporting.trackers.tracker.find_spec", lambda name: None)
    with pytest.raises(ExtraMissingError, match=r"pip install 'coevo\[trackers\]'"):
        tracker_named("wandb")


def test_a_tracker_of_an_earlier_session_that_is_gone_is_warned_of(run_directory, caplog):
    """A resumed run goes on without it; a damaged list is no list."""
    run_directory.save_tracker("neptune", "x")
    assert tracking_again(run_directory.path) == ()
    assert "not tracked any more" in caplog.text
    (run_directory.path / "trackers.json").write_text("[")
    assert tracking_again(run_directory.path) == ()
