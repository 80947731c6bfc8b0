"""The events of a tuning run are added up in one place."""

import pytest

from coevo.cli.tune_report import Progress
from coevo.records.event_log import read_events
from coevo.reporting.tune_story import tell_tuning
from coevo.tuning.api import run_tuning
from coevo.tuning.tally import tally_of


@pytest.fixture
def finished(config_of, engines, tmp_path):
    """A finished run: its result, its directory and its events."""
    result = run_tuning(config := config_of(splits=("test",)), runs_dir=tmp_path / "runs")
    (run,) = (tmp_path / "runs").iterdir()
    return result, config, run, list(read_events(run / "events.jsonl"))


def test_result_page_and_progress_have_the_same_sums(finished):
    """And these are the sums over the recorded episodes themselves."""
    result, config, run, events = finished
    tally, progress = tally_of(events), Progress(config)
    for event in events:
        progress.take(event)
    episodes = [event for event in events if event["kind"] == "episode"]
    assert tally.spent["turns"] == sum(event["turns"] for event in episodes) > 0
    assert tally.spent["episodes"] + tally.spent["measuring"] == len(episodes)
    assert tally.spent == progress.tally.spent == tell_tuning(run).spent
    assert {name: getattr(result.spent, name) for name in tally.spent} == tally.spent
    assert tally.fingerprint == result.fingerprint == tell_tuning(run).fingerprints[1]
