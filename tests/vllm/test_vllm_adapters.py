"""vLLM for real, with low-rank members as adapters: in one batch they say what each says alone, and what weights say.

Each configuration is started once (`inside_adapters.py` looks at it from within); tolerances are of log-probabilities.
"""

from dataclasses import replace

import numpy as np
import pytest

from coevo.engines.loading import EMBEDDED_FOLDER, inspect_folder
from coevo.engines.policy import WeightPolicy
from coevo.engines.vllm.config import VllmOptions
from coevo.engines.vllm.engine import VllmEngine
from coevo.interfaces import Member, Request, Sampling

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

CONFIGURATIONS = [("embedded", 1, 1), ("qwen", 2, 2)]
TOLERANCES = {"float32": 2e-4, "bfloat16": 0.1}
"""fp32: the sum of products is taken in another order. bf16: a member's weights are rounded, its adapter is apart."""


@pytest.fixture(scope="session", params=CONFIGURATIONS, ids=lambda each: "{} in {}, rank {}".format(*each))
def configuration(request, qwen, serve_in_vllm):
    """One model in one number of parts, as vLLM serves it with adapters of a rank; rank 2 is padded to 8 by vLLM."""
    name, parts, rank = request.param
    return serve_in_vllm(EMBEDDED_FOLDER if name == "embedded" else qwen, parts, rank)


@pytest.fixture
def rank(request):
    """Rank of the configuration."""
    return request.node.callspec.params["configuration"][2]


@pytest.fixture
def tolerance(configuration):
    """What rounding may change in the configuration."""
    return TOLERANCES[inspect_folder(configuration.path).dtype]


def require_same(found, expected, tolerance):
    """Check that answers agree, as far as rounding lets them: up to the first token of which another was as likely."""
    for one, other in zip(found, expected, strict=True):
        pairs = list(zip(one["tokens"], other["tokens"], one["logprobs"], other["logprobs"], strict=True))
        same = next((place for place, (a, b, *_) in enumerate(pairs) if a != b), len(pairs))
        assert same == len(pairs) or tolerance > 0.01
        assert same > 0
        assert max(abs(p - q) for *_, p, q in pairs[:same]) < tolerance


def difference(one, other):
    """Changes of the log-probabilities of the tokens that both tables have."""
    tokens = sorted(one.keys() & other.keys())
    assert len(tokens) > 3
    return np.array([one[token] - other[token] for token in tokens])


def test_an_adapter_is_the_member(configuration, tolerance):
    """The likeliest tokens have the log-probabilities that weights moved by `coevo.noise.perturb` give, not the base's.

    P11: so it is with fused and sharded layers.
    """
    for table in configuration.facts["tables"]:
        assert np.abs(difference(table["adapted"], table["moved"])).max() < tolerance
        assert np.abs(difference(table["adapted"], table["base"])).max() > 2 * tolerance


def test_members_and_base_answer_in_one_batch(configuration, tolerance):
    """Two halves of a pair and the base are one call of vLLM, in which each says what it says alone."""
    facts = configuration.facts
    assert facts["together"]["batches"] == [3]
    alone = [facts[name]["answers"][0] for name in ("base", "mirrored")]
    require_same(facts["together"]["answers"], [facts["alone"][0]["answers"][0], *alone], tolerance)
    firsts = [answer["logprobs"][0] for answer in facts["together"]["answers"]]
    assert min(abs(np.diff(sorted(firsts)))) > 0


def test_more_members_than_slots(configuration, tolerance):
    """They answer in several batches, both requests of a member in the same one; vLLM holds no more than fit."""
    facts = configuration.facts
    assert facts["crowd"]["batches"] == [5, 4, 2]
    alone = [each["answers"][0] for each in facts["alone"]]
    require_same(facts["crowd"]["answers"], [*alone, facts["base"]["answers"][0], *alone], tolerance)
    assert facts["held"] <= 2


def test_without_a_spare_slot_the_base_answers_as_a_member(configuration, tolerance):
    """On the CPU vLLM adds the adapter of the last slot to rows without one: the fault is there to be caught."""
    alone, together = configuration.facts["in the end"]
    base, *_, last = together["answers"]
    require_same([base], [last], tolerance)
    assert abs(base["logprobs"][0] - alone["answers"][0]["logprobs"][0]) > tolerance


def test_adapters_leave_no_trace_in_the_base(configuration):
    """P6: afterwards the base says to the bit what it said before, and has the same fingerprint."""
    assert configuration.facts["base again"] == configuration.facts["base"]
    assert configuration.facts["after members"] == configuration.facts["fingerprint"]


def test_no_member_answers_from_another_ones_cache(configuration):
    """P3: neither the second member nor the base finds the first one's keys; the first one finds its own."""
    first, second, base, again = configuration.facts["caching"]
    assert (first, second, base) == (0, 0, 0)
    assert again > 0


def test_a_member_finds_its_earlier_turns(configuration):
    """P3: a conversation that grows is read on from what is cached; neither another member nor the base has any."""
    first, second, base, again = configuration.facts["turns"]
    assert (first, second, base) == (0, 0, 0)
    assert again > 0


def test_the_sign_turns_the_change_around(configuration):
    """To first order: of a small change and the mirrored one the sum is small, where rounding does not hide it."""
    if inspect_folder(configuration.path).dtype != "float32":
        pytest.skip("a change that is small enough is lost in bf16")
    plus, minus = (difference(table["adapted"], table["base"]) for table in configuration.facts["small"])
    assert np.abs(plus + minus).max() < 0.1 * np.abs(plus - minus).max()
    assert np.abs(plus - minus).max() > 1e-3


def test_other_members_are_served_by_moved_weights(configuration, rank, vllm_sigma, torch_logprobs, tolerance):
    """Dense noise and ranks above the adapters' are still answered exactly, beside a batch that is shared."""
    mixed = configuration.facts["mixed"]
    assert sorted(mixed["batches"]) == [1, 1, 2]
    member = Member(77, 0, 0, 1, vllm_sigma)
    asked = [member, replace(member, rank=rank), replace(member, rank=rank + 1), None]
    for answer, each in zip(mixed["answers"], asked, strict=True):
        expected = torch_logprobs(configuration.path, "n = 5", each, "linear")
        assert abs(expected[answer["tokens"][0]] - answer["logprobs"][0]) < tolerance


def test_weights_are_those_of_the_engine_torch(configuration, rank, torch_history, make_low_rank_updates):
    """P10, P11: beneath adapters the weights move in place: the same fingerprints and the same export."""
    fingerprints, exported = torch_history(configuration.path, make_low_rank_updates(rank), configuration.policy)
    assert [configuration.facts["fingerprint"], *configuration.facts["history"]] == fingerprints
    assert (configuration.export / "model.safetensors").read_bytes() == exported
    moved = configuration.facts["moved"]["answers"][0]["logprobs"]
    assert moved != configuration.facts["alone"][0]["answers"][0]["logprobs"]


def test_adapters_are_gone_when_weights_have_moved(configuration):
    """No file of an adapter is left, and after an update vLLM holds none."""
    assert configuration.facts["leftovers"] == []
    assert configuration.facts["loaded"] == 0


def test_the_engine_answers_and_learns(vllm_python, torch_history, make_low_rank_updates):
    """The engine itself: base, low-rank and dense members in one call, twice the same, and an update."""
    policy, options = WeightPolicy(scope="linear"), VllmOptions(cache_gb=0.25, is_probed=False)
    with VllmEngine(EMBEDDED_FOLDER, chat=False, options=options, policy=policy, rank=1, members=2) as engine:
        low = [Member(77, 0, direction, sign, 0.02, rank=1) for direction in (0, 1) for sign in (1, -1)]
        sampling = Sampling(temperature=0.0, max_tokens=12)
        members = [None, *low, Member(77, 0, 0, 1, 0.02)]
        requests = [Request(f"r{place}", "n = 5", place, member, sampling) for place, member in enumerate(members)]
        first = {answer.request_id: answer for answer in engine.generate(requests)}
        assert first == {answer.request_id: answer for answer in engine.generate(requests)}
        assert first.keys() == {request.id for request in requests}
        assert len({answer.text for answer in first.values()}) > 2
        fingerprints, _ = torch_history(EMBEDDED_FOLDER, make_low_rank_updates(1), WeightPolicy(scope="linear"))
        assert engine.commit(make_low_rank_updates(1)[0]) == fingerprints[1]
