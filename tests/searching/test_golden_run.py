import hashlib
import json
from pathlib import Path

import pytest
from arms import ARMS

from coevo.records.event_log import read_events
from coevo.searching.loop import evolve

GOLDEN = Path(__file__).parents[1] / "golden"
HASHES = json.loads((GOLDEN / "runs.json").read_text())


def digest(file):
    """Hash of a file's bytes; of nothing, where it is missing."""
    return hashlib.blake2b(file.read_bytes() if file.exists() else b"", digest_size=16).hexdigest()


def story(run):
    """The events without clock fields and seams."""
    events = [dict(event) for event in read_events(run.directory.events) if event["kind"] != "resumed"]
    return [{key: value for key, value in event.items() if key != "clock"} for event in events]


@pytest.mark.parametrize("es", ["dense", "off"])
def test_a_run_is_the_golden_one_byte_for_byte(harness, es):
    """With the clock held, a search's event log is exactly the stored one: nothing in it depends on chance or time.

    A deliberate change of the recipe or the log's form is followed by writing the file anew, once, and saying so.
    """
    run = harness(budget=140, seed=5, es=es)
    evolve(run.search)
    assert run.directory.events.read_bytes() == (GOLDEN / f"run_{es}.jsonl").read_bytes()


def test_the_golden_history_is_the_golden_one(harness):
    """So is the ES history of the run with ES."""
    run = harness(budget=140, seed=5)
    evolve(run.search)
    assert run.directory.history.read_bytes() == (GOLDEN / "run_dense_history.jsonl").read_bytes()


@pytest.mark.parametrize("arm", ARMS)
def test_every_arm_is_its_golden_run(harness, arm):
    """Log and history of every arm hash to what is stored."""
    run = harness(budget=140, seed=5, **ARMS[arm])
    evolve(run.search)
    assert HASHES[arm] == {"events": digest(run.directory.events), "history": digest(run.directory.history)}


def test_arms_differ_where_they_should():
    """No two arms tell the same story, so that none of them is without effect."""
    assert len({value["events"] for value in HASHES.values()}) == len(ARMS) == len(HASHES)


def test_the_guarded_arm_trips_and_goes_on(harness):
    """Its first steps fall apart and move nothing, later ones hold: so resuming it crosses a change of strategy."""
    run = harness(budget=140, seed=5, **ARMS["guard"])
    evolve(run.search)
    refused = [event["refused"] for event in story(run) if event["kind"] == "guard"]
    assert refused[0]
    assert not refused[-1]
    assert 0 < len(run.engine.updates) < len(refused)


@pytest.mark.parametrize("arm", ARMS)
def test_resumed_in_the_middle_an_arm_tells_the_same_story(harness, reopened, log, arm):
    """Cut anywhere and resumed, log and history are those of the run that was never cut; nothing is charged twice."""
    whole = harness(budget=140, seed=5, **ARMS[arm])
    evolve(whole.search)
    log.close()
    told, history = story(whole), digest(whole.directory.history)
    lines = whole.directory.events.read_bytes().splitlines(keepends=True)
    for cut in range(1, len(lines), 41):
        whole.directory.events.write_bytes(b"".join(lines[:cut]) + lines[cut][: len(lines[cut]) // 2])
        again = reopened(budget=140, seed=5, **ARMS[arm])
        assert story(again) == told
        assert digest(again.directory.history) == history
