"""Guided noise in vLLM: the same bits in however many parts, though the basis lies beside the weights."""

import pytest

from coevo.engines.policy import WeightPolicy
from coevo.engines.vllm.config import VllmOptions
from coevo.engines.vllm.engine import VllmEngine
from coevo.interfaces import Member, Request, Sampling, Update

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def test_a_guided_history_gives_the_weights_of_the_engine_torch(vllm_python, guided_model, torch_history):
    """In one part and in two: members answer and leave no trace, and every update gives the same fingerprint."""
    folder, basis = guided_model()
    policy = WeightPolicy(scope="guided")
    updates = [Update(77, step, (0, 1), (3e-3, -2e-3), basis=basis.identity) for step in range(3)]
    expected, _ = torch_history(folder, updates, policy)
    members = (None, *(Member(77, 0, 0, sign, 0.05, basis=basis.identity) for sign in (1, -1)))
    sampling = Sampling(temperature=0.0, max_tokens=8)
    requests = [Request(f"r{n}", "n = 5", n, member, sampling) for n, member in enumerate(members)]
    for parts in (1, 2):
        options = VllmOptions(tensor_parallel=parts, cache_gb=0.25, rows=8)
        with VllmEngine(folder, chat=False, options=options, policy=policy) as engine:
            assert len(list(engine.generate(requests))) == 3
            assert [engine.fingerprint(), *map(engine.commit, updates)] == expected
    assert len(set(expected)) == 4
