"""Engine and model are held against each other by their names, before anything is looked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.errors import ConfigError
from coevo.learning.choice import ModelChoice
from coevo.learning.models import renderer_of_model
from coevo.learning.suiting import SCRIPT, check_suits

NAMES = ("", "embedded", "player", "s.json", "path/to/model", "Qwen/Qwen3-0.6B", "http://h/v1#m", "HTTPS://h/v1")


@pytest.mark.parametrize("engine", ["auto", "torch", "vllm", "endpoint", "scripted"])
@pytest.mark.parametrize("model", NAMES)
def test_each_engine_wants_a_name_of_its_kind(engine, model):
    """Addresses go with servers alone, servers with addresses alone; what ships with coevo is no script."""
    is_address = model.lower().startswith("http")
    suits = {
        "auto": True,
        "torch": not is_address,
        "vllm": not is_address,
        "endpoint": is_address,
        "scripted": not is_address and model not in ("", "embedded", "player"),
    }[engine]
    if suits:
        check_suits(engine, model)
        return
    with pytest.raises(ConfigError, match=f"--engine {engine}") as refusal:
        check_suits(engine, model)
    wanted = {"endpoint": "http://127.0.0.1:8000/v1#name", "scripted": SCRIPT}.get(engine, "drop --engine")
    assert wanted in str(refusal.value)
    assert (repr(model) in str(refusal.value)) == (not is_address and model != "")


@given(st.text(alphabet="abc/:@?#", min_size=1))
def test_what_an_address_holds_is_not_repeated(secret):
    """A password or a key in it stays out of every message."""
    with pytest.raises(ConfigError) as refusal:
        check_suits("scripted", f"http://{secret}-s3cret")
    assert "s3cret" not in str(refusal.value)


def test_every_way_to_a_model_makes_the_check():
    """The one place through which prompts for a model are chosen refuses the pair."""
    with pytest.raises(ConfigError, match="expected --model with --engine scripted"):
        renderer_of_model(ModelChoice("http://h/v1", "scripted"))
