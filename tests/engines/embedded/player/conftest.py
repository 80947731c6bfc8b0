"""The shipped player, loaded once."""

from typing import Any

import pytest

from coevo.engines.loading import PLAYER, resolve_model


@pytest.fixture(scope="session")
def player() -> Any:
    """The shipped model, in transformers."""
    from transformers import LlamaForCausalLM

    return LlamaForCausalLM.from_pretrained(resolve_model(PLAYER)).eval()
