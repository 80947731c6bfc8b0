"""The vLLM engine around vLLM, with a stand-in for it: what is asked, how answers and refusals are read."""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import pytest

from coevo.engines import wire
from coevo.engines.loading import EMBEDDED_FOLDER, inspect_folder
from coevo.engines.policy import WeightPolicy
from coevo.engines.vllm_canary import require_moving
from coevo.engines.vllm_config import VllmOptions, require_plain, require_supported, share_cores
from coevo.engines.vllm_engine import VllmEngine
from coevo.engines.vllm_shards import Shards
from coevo.engines.vllm_worker import VllmModel, salt_of
from coevo.errors import ConfigError, ModelError
from coevo.interfaces import Member, Partition, Update

END = 1


class Codec:
    """One token per letter."""

    def encode(self, text: str) -> list[int]:
        """See `coevo.engines.tokens.Codec`."""
        return [ord(letter) for letter in text]

    def decode(self, tokens: Sequence[int]) -> str:
        """See `coevo.engines.tokens.Codec`."""
        return "".join(chr(token) for token in tokens if token != END)


class Llm:
    """Answers every prompt with the tokens it is told, and remembers what it was asked."""

    def __init__(self, tokens: Sequence[int] = (65, 66, END), context: int = 20) -> None:
        self.tokens, self.asked, self.busy, self.resets, self.is_reset = tokens, [], False, 0, True
        self.logprobs = [-1.0] * len(tokens)
        config = SimpleNamespace(model_config=SimpleNamespace(max_model_len=context))
        self.llm_engine = SimpleNamespace(vllm_config=config, has_unfinished_requests=lambda: self.busy)

    def generate(self, prompts, parameters, use_tqdm):
        """As `vllm.LLM.generate`."""
        self.asked += list(zip(prompts, parameters, strict=True))
        tables = [{token: SimpleNamespace(logprob=p)} for token, p in zip(self.tokens, self.logprobs, strict=True)]
        answer = SimpleNamespace(token_ids=self.tokens, logprobs=tables, cumulative_logprob=sum(self.logprobs))
        return [SimpleNamespace(outputs=[answer]) for _ in prompts]

    def reset_prefix_cache(self):
        """As `vllm.LLM.reset_prefix_cache`."""
        self.resets += 1
        return self.is_reset


class Moves:
    """Remembers what weights were asked to do."""

    def __init__(self) -> None:
        self.seen = []

    def activate(self, member):
        """See `Shards`."""
        self.seen.append(member)

    def commit(self, update):
        """See `Shards`."""
        self.seen.append(update)


@pytest.fixture(autouse=True)
def _no_vllm(monkeypatch):
    """A package called vllm that has sampling parameters only."""
    module = ModuleType("vllm")
    module.SamplingParams = lambda **values: values
    monkeypatch.setitem(sys.modules, "vllm", module)


def answers(model, requests):
    """Completions by request."""
    batches = model.answer([wire.pack_request(request) for request in requests])
    return {values["request_id"]: wire.unpack_completion(values) for batch in batches for values in batch}


def test_requests_reach_vllm_member_by_member(make_requests, member):
    """Each member is served once, and all its requests are one batch with a salt of its own."""
    llm, moves = Llm(), Moves()
    requests = make_requests(6, (None, member(), member(sign=-1)), max_tokens=3)
    answered = answers(VllmModel(llm, moves, Codec(), (END,)), requests)
    assert moves.seen == [None, member(), member(sign=-1)]
    assert [prompt["cache_salt"] for prompt, _ in llm.asked] == [salt_of(0, each) for each in moves.seen for _ in "ab"]
    assert answered.keys() == {request.id for request in requests}
    assert {(answer.text, answer.finish, answer.num_tokens) for answer in answered.values()} == {("AB", "stop", 3)}


def test_sampling_is_handed_on(make_requests):
    """Seed (63 bits of it), temperature, nucleus and limit are the request's; the limit ends with the context."""
    llm = Llm(context=15)
    (request,) = make_requests(1, temperature=0.5, top_p=0.9, max_tokens=12)
    answers(VllmModel(llm, Moves(), Codec(), (END, 3)), [replace(request, seed=2**63 + 11)])
    assert llm.asked[0][1] == {
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 11,
        "max_tokens": 15 - len(request.text),
        "stop_token_ids": [END, 3],
        "detokenize": False,
        "logprobs": 0,
    }


def test_a_prompt_that_leaves_no_room_is_answered_empty(make_requests):
    """As by every engine: no tokens, "length", and vLLM is not asked."""
    llm = Llm(context=10)
    (request,) = make_requests(1)
    answer = answers(VllmModel(llm, Moves(), Codec(), (END,)), [request])[request.id]
    assert (answer.text, answer.finish, answer.num_tokens) == ("", "length", 0)
    assert llm.asked == []


@pytest.mark.parametrize("broken", [float("nan"), float("inf"), float("-inf")])
def test_an_answer_is_cut_off_where_logits_are_not_finite(make_requests, broken):
    """What comes before stays; the rest is never used as if whole, an end token among it neither."""
    llm = Llm(tokens=(65, 66, 67, END))
    llm.logprobs[2] = broken
    (request,) = make_requests(1)
    answer = answers(VllmModel(llm, Moves(), Codec(), (END,)), [request])[request.id]
    assert (answer.text, answer.finish, answer.num_tokens) == ("AB", "length", 2)


def test_an_answer_without_an_end_is_cut_off(make_requests):
    """Whatever vLLM calls it: only an end token makes an answer whole."""
    (request,) = make_requests(1)
    answer = answers(VllmModel(Llm(tokens=(65, 66)), Moves(), Codec(), (END,)), [request])[request.id]
    assert (answer.text, answer.finish, answer.num_tokens) == ("AB", "length", 2)


UPDATE = Update(7, 0, (0, 1), (0.5, -0.5))


def test_an_update_empties_the_cache_and_changes_every_salt(make_requests):
    """P3: keys and values of the weights before an update are never met again."""
    llm, moves = Llm(), Moves()
    model = VllmModel(llm, moves, Codec(), (END,))
    (request,) = make_requests(1)
    answers(model, [request])
    model.commit([wire.pack_update(UPDATE)])
    answers(model, [request])
    before, after = (prompt["cache_salt"] for prompt, _ in llm.asked)
    assert before != after
    assert (llm.resets, moves.seen) == (1, [None, UPDATE, None])


def test_weights_stay_where_the_cache_is_not_emptied():
    """P4: vLLM's refusal is an error, and comes before anything has moved."""
    llm, moves = Llm(), Moves()
    llm.is_reset = False
    with pytest.raises(ModelError, match="prefix cache"):
        VllmModel(llm, moves, Codec(), (END,)).commit([wire.pack_update(UPDATE)])
    assert moves.seen == []


@pytest.mark.parametrize("act", ["answer", "commit", "fingerprint", "export"])
def test_nothing_is_done_to_weights_at_work(act, make_requests, tmp_path):
    """P5: a request in flight would see two models."""
    llm, moves = Llm(), Moves()
    llm.busy = True
    model = VllmModel(llm, moves, Codec(), (END,))
    acts = {
        "answer": lambda: answers(model, make_requests(1)),
        "commit": lambda: model.commit([wire.pack_update(UPDATE)]),
        "fingerprint": model.fingerprint,
        "export": lambda: model.export(tmp_path),
    }
    with pytest.raises(RuntimeError, match="unfinished"):
        acts[act]()
    assert moves.seen == []


def test_every_state_of_the_weights_has_its_salt(member):
    """P3: sign, sigma, step, subspace and version all tell salts apart."""
    members = [None, member(), member(sign=-1), member(sigma=0.1), member(step=1), member(direction=1)]
    members += [Member(77, 0, 0, 1, 0.05, Partition(4, "tile"), subspace) for subspace in (0, 1)]
    salts = [salt_of(version, each) for version in (0, 1) for each in members]
    assert len(set(salts)) == len(salts)


class Dial:
    """A model of two parameters, one of which may be a shadow; answers what it holds."""

    def __init__(self, dead: str = "", sticks: bool = False) -> None:
        self.values, self.dead, self.sticks = {"a": 0, "b": 0}, dead, sticks

    def nudge(self, tensors, member):
        """See `Shards.nudge`."""
        for name in tensors:
            if name != self.dead and not (self.sticks and member is None):
                self.values[name] = 0 if member is None else 1 + member.direction

    def look(self):
        """What the model says."""
        return tuple(self.values.values())


def test_live_parameters_pass_the_canary():
    """Every one is moved and put back."""
    dial = Dial()
    require_moving({"p": ["a"], "q": ["b"]}, dial.nudge, dial.look)
    assert dial.values == {"a": 0, "b": 0}


def test_a_shadow_is_told_by_the_canary():
    """P1, P2: a parameter that does not count is refused by name."""
    dial = Dial(dead="b")
    with pytest.raises(ModelError, match="served parameter 'q'"):
        require_moving({"p": ["a"], "q": ["b"]}, dial.nudge, dial.look)


def test_a_parameter_that_is_not_put_back_is_told_by_the_canary():
    """P6: a trace of the check itself would be a trace in the run."""
    dial = Dial(sticks=True)
    with pytest.raises(ModelError, match="same log-probabilities"):
        require_moving({"p": ["a"], "q": ["b"]}, dial.nudge, dial.look)


@pytest.mark.parametrize(("answer", "kind"), [("error", ModelError), ("failure", RuntimeError)])
def test_a_ranks_error_is_raised_here(answer, kind):
    """P21: an error crosses vLLM's processes as an answer, and is raised as what it was."""
    with pytest.raises(kind, match=r"'layer\.x' is packed"):
        Shards(
            lambda method, args: [{"value": []}, {answer: "'layer.x' is packed"}],
            inspect_folder(EMBEDDED_FOLDER),
            WeightPolicy(),
        )


def test_latent_attention_is_refused(make_model):
    """P2: vLLM serves products of such weights, wherever the configuration says so."""
    for changes in ({"kv_lora_rank": 8}, {"text_config": {"kv_lora_rank": 8}}):
        with pytest.raises(ModelError, match="kv_lora_rank"):
            VllmEngine(make_model(**changes), chat=False)
    require_supported(inspect_folder(make_model()))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"quantization": "fp8"}, "'fp8'"),
        ({"lora_config": object()}, "enable_lora"),
        ({"speculative_config": object()}, "speculation"),
    ],
)
def test_servers_that_add_to_the_weights_are_refused(changes, message):
    """P2, P19: quantised weights, adapters and draft models do not move with the weights."""
    plain = {"quantization": None, "lora_config": None, "speculative_config": None}
    make = lambda values: SimpleNamespace(  # noqa: E731
        model_config=SimpleNamespace(quantization=values["quantization"]),
        **{key: values[key] for key in ("lora_config", "speculative_config")},
    )
    require_plain(make(plain))
    with pytest.raises(ModelError, match=message):
        require_plain(make(plain | changes))


def test_cores_are_shared_evenly(monkeypatch):
    """P31: each part gets cores of its own; a single part is left to vLLM."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {4, 5, 6, 7, 9})
    assert [share_cores(parts) for parts in (1, 2, 3)] == ["auto", "4,5|6,7", "4|5|6"]
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    assert share_cores(2) == "auto"


def test_options_are_told_to_vllm():
    """Served type, context and memory as chosen; caching on, no tokenizer, no code of the model's."""
    folder = inspect_folder(EMBEDDED_FOLDER)
    told = VllmOptions(context=100, cache_gb=0.5, tensor_parallel=2).engine_arguments(folder, is_cpu=False)
    assert told["dtype"] == "float32"
    assert (told["max_model_len"], told["kv_cache_memory_bytes"], told["tensor_parallel_size"]) == (100, 2**29, 2)
    assert told["enable_prefix_caching"]
    assert told["skip_tokenizer_init"]
    assert not told["trust_remote_code"]
    assert [VllmOptions().engine_arguments(folder, is_cpu=cpu)["enforce_eager"] for cpu in (True, False)] == [
        True,
        False,
    ]
    json.dumps(VllmOptions().model_dump(mode="json"))


@pytest.mark.slow
def test_an_interpreter_without_vllm_is_said(monkeypatch):
    """The message names the interpreter and the package."""
    monkeypatch.setenv("COEVO_VLLM_PYTHON", sys.executable)
    with (
        VllmEngine(EMBEDDED_FOLDER, chat=False) as engine,
        pytest.raises(ModelError, match="expected the package vllm"),
    ):
        engine.wait_ready()


def test_an_interpreter_that_is_not_there_is_said(monkeypatch):
    """Before anything is started."""
    monkeypatch.setenv("COEVO_VLLM_PYTHON", "no-such-python")
    with pytest.raises(ConfigError, match="no-such-python"):
        VllmEngine(EMBEDDED_FOLDER, chat=False)
