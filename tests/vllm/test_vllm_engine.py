"""vLLM for real: in every configuration the same weights to the bit, and answers that come from them.

Each configuration is started once (`inside.py` looks at it from within) and held against the engine `torch`.
"""

import pytest

from coevo.engines.loading import EMBEDDED_FOLDER, inspect_folder
from coevo.engines.policy import WeightPolicy
from coevo.engines.vllm.engine import VllmEngine
from coevo.interfaces import Member, Request, Sampling

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

CONFIGURATIONS = [("embedded", 1), ("embedded", 2), ("qwen", 1), ("qwen", 2)]


@pytest.fixture(scope="session", params=CONFIGURATIONS, ids=lambda each: f"{each[0]} in {each[1]}")
def configuration(request, qwen, serve_in_vllm):
    """One model in one number of parts, as vLLM serves it."""
    name, parts = request.param
    if name == "embedded":
        return serve_in_vllm(EMBEDDED_FOLDER, parts)
    return serve_in_vllm(qwen, parts, rule="stochastic")


def test_every_tensor_counts(configuration):
    """P1, P2: noise in each checkpoint tensor alone changes log-probabilities, and taken out changes none."""
    movement = configuration.facts["movement"]
    assert movement.keys() == inspect_folder(configuration.path).tensors.keys()
    assert {name: seen for name, seen in movement.items() if seen != [True, True]} == {}


def test_no_member_answers_from_another_ones_cache(configuration):
    """P3: after another member a member says what it says cold; its own prompt is cached, and no one else's is."""
    caching = configuration.facts["caching"]
    assert caching["after"] == caching["cold"]
    assert caching["cold"]["cached"] == 0 < caching["again"]["cached"]


def test_a_member_finds_its_earlier_turns(configuration):
    """P3: a conversation that grows is read on from what is cached, after other members too; theirs is not."""
    first, second, base, again = configuration.facts["turns"]
    assert (first, second, base) == (0, 0, 0)
    assert again > 0


def test_without_a_salt_the_cache_is_stale(configuration):
    """P3: the same prompt without a salt is answered from another member's keys: the fault is there to be caught."""
    caching = configuration.facts["caching"]
    assert caching["unsalted"]["cached"] > 0
    assert caching["unsalted"]["logprobs"] != caching["cold"]["logprobs"]


def test_nothing_moves_while_a_request_is_at_work(configuration):
    """P4, P5: vLLM refuses to empty its cache then; so does coevo to move weights, before anything has moved."""
    refusals = configuration.facts["refusals"]
    assert refusals["reset"] is False
    assert refusals["commit"][0] == refusals["answer"][0] == "RuntimeError"
    assert refusals["unguarded"][0] == "ModelError"
    assert "prefix cache" in refusals["unguarded"][1]
    assert refusals["unmoved"]


def test_members_leave_no_trace(configuration):
    """P6: after twenty members, each activated twice, the weights have the fingerprint they began with."""
    assert configuration.facts["after members"] == configuration.facts["fingerprint"]


def test_an_update_is_not_applied_twice(configuration):
    """P8: the same step again is an error, and changes nothing."""
    assert "applied already" in configuration.facts["repeated"][1]
    assert configuration.facts["after repeated"] == configuration.facts["history"][-1]


def test_weights_are_those_of_the_engine_torch(configuration, torch_history, vllm_updates):
    """P10, P11, P12: after each of ten updates the same fingerprint, and the same export, in however many parts."""
    fingerprints, exported = torch_history(configuration.path, vllm_updates, configuration.policy)
    assert [configuration.facts["fingerprint"], *configuration.facts["history"]] == fingerprints
    assert (configuration.export / "model.safetensors").read_bytes() == exported
    assert (configuration.export / "config.json").read_bytes() == (configuration.path / "config.json").read_bytes()
    assert len(list(configuration.export.iterdir())) == len(list(configuration.path.iterdir()))


def test_a_member_says_what_it_says_in_the_engine_torch(configuration, vllm_sigma, torch_logprobs):
    """P11, P12: a member's log-probabilities are the engine torch's but for rounding, and not the base's."""
    differences = []
    for member, seen in ((Member(77, 0, 0, 1, vllm_sigma), "member"), (None, "base")):
        expected, told = torch_logprobs(configuration.path, "n = 5", member), configuration.facts[seen]
        differences.append(expected[told["tokens"][0]] - told["logprobs"][0])
    is_exact = inspect_folder(configuration.path).dtype == "float32"
    assert max(map(abs, differences)) < (1e-3 if is_exact else 0.1)
    assert configuration.facts["member"]["logprobs"] != configuration.facts["base"]["logprobs"]


def test_parts_that_are_shared_are_counted_once(configuration, request):
    """P10: in two parts norms, and weights and biases of a single key head, are served twice and owned once."""
    name, parts = request.node.callspec.params["configuration"]
    layers = inspect_folder(configuration.path).config["num_hidden_layers"]
    norms, keys = 2 * layers + 1, 4 * layers if name == "qwen" else 0
    assert configuration.facts["owned twice"] == (norms + keys if parts == 2 else 0)


def test_layers_are_fused(configuration):
    """P11: what is tested here is not one parameter per tensor."""
    fused = [tensors for name, tensors in configuration.facts["parameters"].items() if "qkv_proj.weight" in name]
    assert fused
    assert all([tensor.split(".")[-2] for tensor in tensors] == ["q_proj", "k_proj", "v_proj"] for tensors in fused)


def test_names_meet_none_of_vllms(configuration):
    """P21: everything the extension adds to vLLM's workers begins with coevo_."""
    assert configuration.facts["names"]
    assert all(name.startswith("coevo_") for name in configuration.facts["names"])


def test_the_engine_answers_and_learns(vllm_python, torch_history, vllm_updates):
    """The engine itself: answers of base and members in one call, a too long prompt, an update, and a clean end."""
    with VllmEngine(EMBEDDED_FOLDER, chat=False) as engine:
        members = (None, Member(77, 0, 0, 1, 0.02), Member(77, 0, 0, -1, 0.02), Member(77, 0, 1, 1, 0.005, rank=1))
        sampling = Sampling(temperature=0.0, max_tokens=12)
        requests = [Request(f"r{n}", "n = 5", n, member, sampling) for n, member in enumerate(members)]
        requests.append(Request("long", "n = 5\n" * 2000, 9, None, sampling))
        first = {answer.request_id: answer for answer in engine.generate(requests)}
        again = {answer.request_id: answer for answer in engine.generate(requests)}
        assert first == again
        assert first.keys() == {request.id for request in requests}
        assert (first["long"].text, first["long"].finish, first["long"].num_tokens) == ("", "length", 0)
        assert len({first[request.id].text for request in requests}) > 2
        fingerprints, _ = torch_history(EMBEDDED_FOLDER, vllm_updates, WeightPolicy())
        assert engine.fingerprint() == fingerprints[0]
        assert engine.commit(vllm_updates[0]) == fingerprints[1]
        (pid,) = engine.worker_pids
        assert pid
