"""Tests of what is read back of a result, and of the end of a log."""

import json

import pytest
from pydantic import BaseModel, ConfigDict

from coevo.errors import RunError
from coevo.records.results import check_end, read_result
from coevo.records.run_directory import RunDirectory


class Found(BaseModel):
    """A result."""

    model_config = ConfigDict(extra="forbid")
    score: float


@pytest.fixture
def run(tmp_path):
    """A run directory; its events are given by `write`."""
    return RunDirectory.create(tmp_path, "run", {})


def write(run, *events):
    """Write the log."""
    run.events.write_text("".join(json.dumps(event) + "\n" for event in events))


def test_a_result_comes_back_as_what_it_was(run):
    """None while there is none."""
    write(run, {"kind": "started"})
    assert read_result(run.path, Found, "a probe") is None
    run.save_result({"score": 1.5})
    assert read_result(run.path, Found, "a probe") == Found(score=1.5)


def test_a_result_of_another_kind_is_refused_with_its_file(run):
    """The message names the file, what was expected, and each field that does not fit."""
    write(run, {"kind": "started"})
    run.save_result({"scores": 1.5})
    with pytest.raises(RunError, match=r"result\.json: expected that of a probe: score: .*; scores: there is no such"):
        read_result(run.path, Found, "a probe")


@pytest.mark.parametrize(
    "events",
    [
        [{"kind": "started"}, {"kind": "finished"}],
        [{"kind": "finished"}, {"kind": "spent", "aside": "note"}],
        [{"kind": "resumed"}, {"kind": "finished"}],
    ],
)
def test_a_log_that_ends_as_it_should_is_taken(run, events):
    """What was noted beside the story after its end takes nothing from it."""
    write(run, *events)
    check_end(run.path)


@pytest.mark.parametrize(
    ("events", "last"),
    [
        ([], "none"),
        ([{"kind": "started"}], "started"),
        ([{"kind": "finished"}, {"kind": "child"}], "child"),
        ([{"kind": "finished", "aside": "ending"}, {"kind": "resumed"}], "resumed"),
    ],
)
def test_a_log_that_lacks_its_end_is_refused_with_the_way_out(run, events, last):
    """Another event in its place, or an end that was gone on from."""
    write(run, *events)
    with pytest.raises(RunError, match=f"event finished, got {last}; restore it, or delete .*result.json and go on"):
        check_end(run.path)


def test_a_damaged_log_is_refused(run):
    """A line that is no event is named."""
    run.events.write_text('{"kind": "started"}\nnonsense\n{"kind": "finished"}\n')
    with pytest.raises(RunError, match=r"events\.jsonl:2"):
        check_end(run.path)
