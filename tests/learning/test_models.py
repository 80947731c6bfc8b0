"""How a choice becomes engines: each of several has devices of its own."""

from pathlib import Path

import pytest

from coevo.engines.placement import VISIBLE
from coevo.errors import ConfigError
from coevo.learning import choice, models
from coevo.learning.choice import ModelChoice
from coevo.learning.models import open_model


@pytest.fixture
def large(monkeypatch):
    """A choice of two engines whose model counts as a large one, so that GPUs serve it where there are any."""
    monkeypatch.setattr(choice, "SMALL_MODEL", 0)
    return ModelChoice("embedded", workers=2, engines=2)


def seen_by(engines):
    """The variable in the environments of the workers of each engine."""
    found = []
    for engine in engines:
        engine.wait_ready()
        environments = [Path(f"/proc/{pid}/environ").read_text().split("\0") for pid in engine.worker_pids]
        lines = [line.partition("=") for environment in environments for line in environment]
        found.append({value for name, _, value in lines if name == VISIBLE})
    return found


@pytest.fixture
def opened(monkeypatch):
    """The engines that hold weights, in the order of their opening."""
    found, original = [], models._holding_weights

    def holding(*arguments):
        found.append(original(*arguments))
        return found[-1]

    monkeypatch.setattr(models, "_holding_weights", holding)
    return found


@pytest.mark.slow
def test_each_engine_has_devices_of_its_own(large, opened, monkeypatch):
    """Two engines share what the user's variable names, one device each."""
    monkeypatch.setenv(VISIBLE, "GPU-aa,5,6")
    engine = open_model(large).engine
    try:
        assert sorted(map(sorted, seen_by(opened))) == [["5"], ["GPU-aa"]]
    finally:
        engine.close()


def test_too_few_devices_are_refused_at_the_start(large, opened, monkeypatch):
    """In one line that says what would work, before an engine is opened."""
    monkeypatch.setenv(VISIBLE, "5")
    with pytest.raises(ConfigError, match=r"got 1 \(5\); take --engines 1"):
        open_model(large)
    assert opened == []


@pytest.mark.slow
@pytest.mark.parametrize("visible", ["", "5"])
def test_a_small_model_needs_no_devices(visible, opened, monkeypatch):
    """The CPU serves it, so nothing is placed, whatever there is."""
    monkeypatch.setenv(VISIBLE, visible)
    engine = open_model(ModelChoice("embedded", workers=2, engines=2)).engine
    try:
        assert seen_by(opened) == [{visible}, {visible}]
    finally:
        engine.close()
