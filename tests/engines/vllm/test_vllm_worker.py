"""The vLLM engine around vLLM, with a stand-in for it: what is asked, how answers and refusals are read."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import pytest

from coevo.engines import wire
from coevo.engines.loading import EMBEDDED_FOLDER, inspect_folder
from coevo.engines.policy import WeightPolicy
from coevo.engines.vllm.config import VllmOptions
from coevo.engines.vllm.engine import VllmEngine
from coevo.engines.vllm.shards import Shards
from coevo.engines.vllm.worker import VllmModel, salt_of
from coevo.errors import ConfigError, ModelError
from coevo.interfaces import Member, Message, Partition, Update

END = 1


class Codec:
    """One token per letter."""

    def encode(self, text: str, messages: Sequence[Message] = ()) -> list[int]:
        """See `coevo.engines.tokens.Codec`."""
        written = "".join(message.content for message in messages) or text
        return [ord(letter) for letter in written]

    def decode(self, tokens: Sequence[int]) -> str:
        """See `coevo.engines.tokens.Codec`."""
        return "".join(chr(token) for token in tokens if token != END)


class Llm:
    """Answers every prompt with the tokens it is told, and remembers what it was asked."""

    def __init__(self, tokens: Sequence[int] = (65, 66, END), context: int = 20) -> None:
        self.tokens, self.asked, self.busy, self.resets, self.is_reset = tokens, [], False, 0, True
        self.adapters = []
        self.logprobs = [-1.0] * len(tokens)
        config = SimpleNamespace(model_config=SimpleNamespace(max_model_len=context))
        self.llm_engine = SimpleNamespace(vllm_config=config, has_unfinished_requests=lambda: self.busy)

    def generate(self, prompts, parameters, use_tqdm, lora_request):
        """As `vllm.LLM.generate`."""
        self.asked += list(zip(prompts, parameters, strict=True))
        self.adapters.append(lora_request)
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


class Held:
    """Adapters that are only remembered; see `coevo.engines.vllm.adapters.Adapters`."""

    def __init__(self, slots=2, rank=1) -> None:
        self.slots, self.rank, self.held, self.releases = slots, rank, [], 0

    def serves(self, member):
        """See `Adapters`."""
        return 0 < member.rank <= self.rank

    def hold(self, members):
        """See `Adapters`."""
        self.held.append(list(members))
        return {member: member.identity for member in members}

    def release(self):
        """See `Adapters`."""
        self.releases += 1


def low_rank(member, rank=1):
    """A member of the same direction with noise of a rank."""
    return replace(member, rank=rank)


def test_low_rank_members_share_the_batch_of_the_base(make_requests, member):
    """One call for both halves of a pair and the base, each with its adapter and a salt of its own; no weights move."""
    llm, moves, held = Llm(), Moves(), Held()
    plus, minus = low_rank(member()), low_rank(member(sign=-1))
    answered = answers(VllmModel(llm, moves, Codec(), (END,), held), make_requests(6, (plus, None, minus)))
    assert moves.seen == [None]
    assert held.held == [[plus, minus]]
    assert llm.adapters == [[plus.identity, None, minus.identity] * 2]
    assert [prompt["cache_salt"] for prompt, _ in llm.asked] == [salt_of(0, each) for each in (plus, None, minus)] * 2
    assert len(answered) == 6


def test_members_without_an_adapter_are_served_one_after_another(make_requests, member):
    """Dense members, ranks too high, and all of them where there are no adapters."""
    asked = [low_rank(member()), member(), low_rank(member(), 2), None]
    llm, moves = Llm(), Moves()
    answers(VllmModel(llm, moves, Codec(), (END,), Held()), make_requests(4, asked))
    assert moves.seen == [None, member(), low_rank(member(), 2)]
    assert llm.adapters == [[member().identity, None], None, None]
    llm, moves = Llm(), Moves()
    answers(VllmModel(llm, moves, Codec(), (END,)), make_requests(4, asked))
    assert moves.seen == asked
    assert llm.adapters == [None] * 4


def test_more_members_than_slots_take_turns(make_requests, member):
    """Each batch has as many members as there are slots; the base goes with the first one."""
    llm, held = Llm(), Held(slots=2)
    low = [low_rank(member(direction=direction)) for direction in range(3)]
    answered = answers(VllmModel(llm, Moves(), Codec(), (END,), held), make_requests(8, (*low, None)))
    assert held.held == [low[:2], low[2:]]
    assert [len(adapters) for adapters in llm.adapters] == [6, 2]
    assert len(answered) == 8


def test_an_update_releases_adapters():
    """What was a member of the weights before is none of those after."""
    held = Held()
    VllmModel(Llm(), Moves(), Codec(), (END,), held).commit([wire.pack_update(UPDATE)])
    assert held.releases == 1


def test_sampling_is_handed_on(make_requests):
    """Seed (63 bits of it) and what shapes the draws are the request's; the limit ends with the context."""
    llm = Llm(context=15)
    (request,) = make_requests(1, temperature=0.5, top_p=0.9, max_tokens=12, top_k=20, presence_penalty=1.5)
    answers(VllmModel(llm, Moves(), Codec(), (END, 3)), [replace(request, seed=2**63 + 11)])
    assert llm.asked[0][1] == {
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 20,
        "presence_penalty": 1.5,
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


def test_a_conversation_is_read_in_place_of_the_text(make_requests):
    """The codec gets the messages; one that leaves no room is answered empty, as a text is."""
    llm = Llm(context=10)
    (request,) = make_requests(1)
    talk = (Message("system", "ab"), Message("user", "cd"))
    asked = [replace(request, messages=talk), replace(request, id="long", messages=talk * 3)]
    found = answers(VllmModel(llm, Moves(), Codec(), (END,)), asked)
    assert [prompt["prompt_token_ids"] for prompt, _ in llm.asked] == [[97, 98, 99, 100]]
    assert (found["long"].text, found["long"].finish, found["long"].num_tokens) == ("", "length", 0)


@pytest.mark.parametrize("penalty", [-2.5, 2.01])
def test_a_penalty_beyond_vllms_is_refused(make_requests, penalty):
    """Before anything is asked, and in one line."""
    with VllmEngine(EMBEDDED_FOLDER, chat=False) as engine, pytest.raises(ConfigError, match="from -2 to 2"):
        engine.generate(make_requests(1, presence_penalty=penalty))


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


@pytest.mark.parametrize(("answer", "kind"), [("error", ModelError), ("failure", RuntimeError)])
def test_a_ranks_error_is_raised_here(answer, kind):
    """P21: an error crosses vLLM's processes as an answer, and is raised as what it was."""
    with pytest.raises(kind, match=r"'layer\.x' is packed"):
        Shards(
            lambda method, args: [{"value": []}, {answer: "'layer.x' is packed"}],
            inspect_folder(EMBEDDED_FOLDER),
            WeightPolicy(),
        )


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


def test_low_rank_members_need_the_scope_of_matrices():
    """An adapter could not follow an update of norms and embeddings; said before anything is started."""
    with pytest.raises(ConfigError, match="scope linear"):
        VllmEngine(EMBEDDED_FOLDER, chat=False, policy=WeightPolicy(scope="full"), rank=1)
    with pytest.raises(ConfigError, match="scope linear"):
        VllmEngine(EMBEDDED_FOLDER, chat=False, options=VllmOptions(rank=1))
