"""The laws of decoding, and of weights, held by fleets of the engine `torch` on the lean decoder."""

import json
import os
import signal

import pytest
from engine_laws import LAWS, TEMPLATE, Subject

from coevo.engines.fleet.engine import FleetEngine
from coevo.engines.policy import WeightPolicy
from coevo.engines.replay import replay
from coevo.engines.torch_engine import TorchEngine
from coevo.engines.torch_worker import serve_model
from coevo.interfaces import Member, Update

LINEAR = WeightPolicy(scope="linear")
MEMBERS = (None, Member(77, 0, 0, 1, 0.02), Member(77, 0, 0, -1, 0.02, rank=1), Member(77, 0, 1, 1, 0.02, rank=1))
UPDATES = [Update(77, 0, (0, 1), (0.01, -0.02)), Update(77, 1, (0, 1, 2), (0.003, 0.0, -0.001))]


@pytest.fixture(scope="module")
def talking(make_model):
    """The folder of a random model that talks in chat."""
    folder = make_model(renderer="chat", template=True)
    config = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(config | {"chat_template": TEMPLATE}))
    return folder


@pytest.fixture(scope="module", params=[1, 2, pytest.param(3, marks=pytest.mark.slow)])
def subject(request, talking):
    """So many engines of one worker each, with a base, a dense member and two of rank 1."""
    oracle = serve_model(talking, chat=False, device="cpu", threads=1, policy=LINEAR, rank=1)

    def open_engine():
        return TorchEngine(talking, workers=1, chat=True, policy=LINEAR, rank=1)

    with FleetEngine([open_engine] * request.param) as fleet:
        yield Subject(fleet, oracle, MEMBERS)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_a_law_holds(subject, law):
    """See `engine_laws`."""
    law(subject)


def test_engines_of_several_workers_move_together_and_survive_kills(tiny_llama, make_requests, member, tmp_path):
    """Two engines of two workers answer, commit and export as one engine does, though workers are killed on the way."""
    opened = []

    def open_engine():
        opened.append(TorchEngine(tiny_llama, workers=2, chat=False))
        return opened[-1]

    requests = make_requests(20, (None, member(0), member(1), member(2)))
    with FleetEngine([open_engine] * 2, slots=2) as fleet, TorchEngine(tiny_llama, workers=1, chat=False) as alone:
        for number, update in enumerate(UPDATES):
            expected = {answer.request_id: answer for answer in alone.generate(requests)}
            answers = fleet.generate(requests)
            found = [next(answers)]
            os.kill(opened[number].worker_pids[0], signal.SIGKILL)
            found += answers
            assert len(found) == len(requests)
            assert {answer.request_id: answer for answer in found} == expected
            reached = fleet.commit(update)
            assert reached == alone.commit(update) == replay(tiny_llama, UPDATES[: number + 1]).weights.fingerprint()
        fleet.export(tmp_path / "out")
        assert replay(tmp_path / "out", []).weights.fingerprint() == reached
    assert len(opened) == 2
