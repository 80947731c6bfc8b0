"""The laws of decoding held by the engine `torch`: on the lean decoder and on transformers, whoever answers."""

import json

import pytest
from engine_laws import LAWS, TEMPLATE, Subject

from coevo.engines.policy import WeightPolicy
from coevo.engines.torch_engine import TorchEngine
from coevo.engines.torch_worker import serve_model
from coevo.interfaces import Member

LINEAR = WeightPolicy(scope="linear")
MEMBERS = (None, Member(77, 0, 0, 1, 0.02), Member(77, 0, 0, -1, 0.02, rank=1), Member(77, 0, 1, 1, 0.02, rank=1))


@pytest.fixture(scope="module", params=["lean", pytest.param("transformers", marks=pytest.mark.slow)])
def subject(request, make_model):
    """A random model that talks in chat, with a base, a dense member and two of rank 1."""
    changes = {} if request.param == "lean" else {"num_key_value_heads": 2}
    folder = make_model(renderer="chat", template=True, **changes)
    config = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(config | {"chat_template": TEMPLATE}))
    oracle = serve_model(folder, chat=False, device="cpu", threads=1, policy=LINEAR, rank=1)
    with TorchEngine(folder, workers=1, chat=True, policy=LINEAR, rank=1) as engine:
        yield Subject(engine, oracle, MEMBERS)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_a_law_holds(subject, law):
    """See `engine_laws`."""
    law(subject)
