"""vLLM for real: conversations, the likeliest token alone, stop texts and the presence penalty, as in other engines."""

import json
import shutil

import pytest
from engine_laws import LAWS, TEMPLATE, Subject

from coevo.engines.guiding import BASIS_FILE
from coevo.engines.loading import EMBEDDED_FOLDER
from coevo.engines.policy import WeightPolicy
from coevo.engines.torch_worker import serve_model
from coevo.engines.vllm.engine import VllmEngine
from coevo.interfaces import Member

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

MEMBERS = (None, Member(77, 0, 0, 1, 0.02), Member(77, 0, 0, -1, 0.02, rank=1), Member(77, 0, 1, 1, 0.02, rank=1))


@pytest.fixture(scope="module")
def subject(vllm_python, tmp_path_factory):
    """The embedded model with a chat template, with a base, a dense member and two of rank 1."""
    folder, policy = tmp_path_factory.mktemp("chat") / "model", WeightPolicy(scope="linear")
    shutil.copytree(EMBEDDED_FOLDER, folder, ignore=shutil.ignore_patterns(BASIS_FILE))
    config = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(config | {"chat_template": TEMPLATE}))
    oracle = serve_model(folder, chat=False, device="cpu", threads=1, policy=policy, rank=1)
    with VllmEngine(folder, chat=True, policy=policy, rank=1, members=2) as engine:
        yield Subject(engine, oracle, MEMBERS)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_a_law_holds(subject, law):
    """See `engine_laws`."""
    law(subject)
