"""A tuning run with a model of one weight; everything else is as in a real run."""

import pytest
from aiming import OneWeight, write_environment

from coevo.learning.models import OpenModel
from coevo.tuning import assemble, playing
from coevo.tuning.config import make_tune_config


@pytest.fixture
def aim(tmp_path):
    """The environment's folder."""
    return write_environment(tmp_path / "aim")


@pytest.fixture
def engines(monkeypatch):
    """Makes every model that is opened one of one weight; the engines opened, in order. `limit` is for the next one."""
    opened = []

    class Opened(list):
        limit = None

    opened = Opened()

    def open_model(choice):
        opened.append(OneWeight(opened.limit))
        opened.limit = None
        return OpenModel(opened[-1], "plain")

    for module in ("assemble", "api"):
        monkeypatch.setattr(f"coevo.tuning.{module}.open_model", open_model)
    monkeypatch.setattr(assemble, "renderer_of_model", lambda choice: "plain")
    return opened


@pytest.fixture
def config_of(aim):
    """Makes a configuration of that environment, from any fields."""

    def make(**values):
        strategy = {"members": 8, "sigma": 0.2, "sigma_end": 0.05, "alpha": 0.3, **values.pop("strategy", {})}
        given = {"env": str(aim), "model": "one", "generations": 6, "tasks": 3, "every": 2, "workers": 1}
        return make_tune_config({**given, "evolution_strategy": strategy, **values})

    return make


@pytest.fixture
def rules():
    """Makes rules of episodes from limits."""
    from coevo.environments.spec import EpisodeLimits
    from coevo.interfaces import Sampling

    def make(*, renews=False, retries=0, **limits):
        spec = EpisodeLimits(**{"turns": 9, "turn_tokens": 8, **limits})
        return playing.Rules(spec, Sampling(max_tokens=spec.turn_tokens), renews, retries)

    return make
