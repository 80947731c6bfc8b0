"""What is said of a policy that is allowed and has no effect."""

import logging
from types import SimpleNamespace
from typing import get_args

import pytest

from coevo.engines import worker_engine
from coevo.engines.policy import WeightPolicy
from coevo.engines.torch_engine import TorchEngine
from coevo.engines.vllm.engine import VllmEngine
from coevo.interfaces import UpdateRule

ENGINES = {
    "torch": lambda folder, policy: TorchEngine(folder, workers=2, chat=False, policy=policy),
    "vllm": lambda folder, policy: VllmEngine(folder, chat=False, policy=policy),
}


@pytest.fixture
def said(monkeypatch, caplog):
    """Opens an engine whose workers are none and gives its warnings."""
    monkeypatch.setattr(worker_engine, "WorkerProcess", lambda spec: SimpleNamespace())
    monkeypatch.delenv("COEVO_VLLM_PYTHON", raising=False)
    caplog.set_level(logging.WARNING, "coevo")

    def start(engine, folder, policy):
        caplog.clear()
        ENGINES[engine](folder, policy)
        return [record.message for record in caplog.records]

    return start


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rule", get_args(UpdateRule))
def test_a_rule_that_rounds_nothing_is_told_once(said, make_model, engine, rule):
    """In fp32 there is nothing to round; nothing is said of weights of 16 bits, nor of those that do not move."""
    single, half = make_model(), make_model(dtype="bfloat16")
    warned = said(engine, single, WeightPolicy(update_rule=rule))
    assert len(warned) == (rule != "master")
    for line in warned:
        assert f"update rule {rule} has no effect" in line
        assert "\n" not in line
    assert said(engine, half, WeightPolicy(update_rule=rule)) == []
    assert said(engine, single, WeightPolicy(update_rule=rule, scope="none")) == []
    assert said(engine, single, None) == []
