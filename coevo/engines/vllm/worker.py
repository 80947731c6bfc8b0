"""A worker process whose model is served by vLLM, under whatever interpreter has vLLM.

Weights move inside vLLM's own processes (`coevo.engines.vllm.extension`); this one schedules. Members never share
cached keys and values: every prompt carries a salt that names the member and the version of the weights, and an update
empties the cache. Nothing is in flight when weights move, because answers are collected before anything else is done.
Low-rank members need no weights that move: they answer beside the base, in its batch (`coevo.engines.vllm.adapters`).

vLLM draws with its own generators (on the CPU from the lower 32 bits of a seed), so texts differ from those of the
other engines, and in the last bits of the logits they may depend on what else is in the batch; the weights never do.
"""

import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from coevo.engines import wire
from coevo.engines.loading import inspect_folder
from coevo.engines.policy import WeightPolicy, check_rank
from coevo.engines.stopping import StopWatch, stopped
from coevo.engines.tokens import Codec, end_tokens, make_codec
from coevo.engines.vllm.adapters import Adapters, split_by_members
from coevo.engines.vllm.canary import Table, require_adapting, require_moving
from coevo.engines.vllm.config import VllmOptions, require_supported
from coevo.engines.vllm.generating import generate
from coevo.engines.vllm.shards import Shards
from coevo.engines.vllm.start import make_look, start_vllm
from coevo.engines.worker import serve
from coevo.errors import ModelError
from coevo.interfaces import Completion, Member, Request

_SEED_BITS = 2**63 - 1
"""vLLM keeps seeds as signed 64-bit numbers."""


class VllmModel:
    """A model in vLLM. See `coevo.engines.worker.Servant`.

    Args:
        llm: A `vllm.LLM`.
        shards: Its weights.
        codec: Of the same model.
        ends: Tokens that end an answer.
        adapters: Its low-rank members; None where every member is served by moving the weights.
    """

    def __init__(
        self, llm: Any, shards: Shards, codec: Codec, ends: tuple[int, ...], adapters: Adapters | None = None
    ) -> None:
        self._llm = llm
        self._shards = shards
        self._codec = codec
        self._ends = ends
        self._adapters = adapters
        self._version = 0
        self._context = int(llm.llm_engine.vllm_config.model_config.max_model_len)

    def answer(self, requests: list[wire.Message]) -> Iterator[list[wire.Message]]:
        """Complete packed requests, those that the same weights serve together; yields packed completions as they come.

        Low-rank members are served by the base's weights, as many in one batch as there are slots for adapters.
        """
        by_weights: dict[Member | None, list[Request]] = {}
        for request in map(wire.unpack_request, requests):
            weights = None if self._is_adapted(request.member) else request.member
            by_weights.setdefault(weights, []).append(request)
        for weights, served in by_weights.items():
            self._require_idle()
            self._shards.activate(weights)
            slots = self._adapters.slots if self._adapters is not None else 1
            for batch in split_by_members(served, slots):
                yield from self._complete(batch)

    def commit(self, updates: list[wire.Message]) -> None:
        """Apply packed updates in order.

        Raises:
            ModelError: If vLLM does not empty its cache, before anything is moved.
        """
        self._require_idle()
        if not self._llm.reset_prefix_cache():
            raise ModelError(
                "expected vLLM to empty its prefix cache before the weights move, but it refused: a request is "
                "still at work; end whatever else uses this engine"
            )
        if self._adapters is not None:
            self._adapters.release()
        for update in map(wire.unpack_update, updates):
            self._version += 1
            self._shards.commit(update)

    def fingerprint(self) -> int:
        """Fingerprint of the unperturbed weights."""
        self._require_idle()
        return self._shards.fingerprint()

    def export(self, folder: Path) -> None:
        """Write the unperturbed weights as a model folder."""
        self._require_idle()
        self._shards.export(folder)

    def _complete(self, requests: Sequence[Request]) -> Iterator[list[wire.Message]]:
        """Answer a batch with the weights that are served; a prompt that leaves no room is answered at once, empty."""
        prompts = [self._codec.encode(request.text, request.messages) for request in requests]
        rooms = [self._context - len(prompt) for prompt in prompts]
        hopeless = [request for request, room in zip(requests, rooms, strict=True) if room < 1]
        if hopeless:
            yield [wire.pack_completion(Completion(request.id, "", "length", 0)) for request in hopeless]
        fitting = [place for place, room in enumerate(rooms) if room >= 1]
        if not fitting:
            return
        chosen = [requests[place] for place in fitting]
        salts = [salt_of(self._version, request.member) for request in chosen]
        outputs = generate(
            self._llm,
            [{"prompt_token_ids": prompts[at], "cache_salt": salt} for at, salt in zip(fitting, salts, strict=True)],
            [self._parameters(requests[place], rooms[place]) for place in fitting],
            self._adapters_of(chosen),
            [self._watch(request) for request in chosen],
        )
        answers = zip(chosen, outputs, strict=True)
        yield [wire.pack_completion(self._completion(request, output.outputs[0])) for request, output in answers]

    def _watch(self, request: Request) -> StopWatch | None:
        return StopWatch(self._codec.decode, request.sampling.stop) if request.sampling.stop else None

    def _is_adapted(self, member: Member | None) -> bool:
        return self._adapters is not None and member is not None and self._adapters.serves(member)

    def _adapters_of(self, requests: Sequence[Request]) -> list[Any] | None:
        """What vLLM is to be told of each request's adapter, if anything; None where no member has one."""
        members = dict.fromkeys(request.member for request in requests if request.member is not None)
        adapted = [member for member in members if self._is_adapted(member)]
        if self._adapters is None or not adapted:
            return None
        held = self._adapters.hold(adapted)
        return [None if request.member is None else held[request.member] for request in requests]

    def _parameters(self, request: Request, room: int) -> Any:
        sampling = request.sampling
        return import_module("vllm").SamplingParams(
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            top_k=sampling.top_k,
            presence_penalty=sampling.presence_penalty,
            seed=request.seed & _SEED_BITS,
            max_tokens=min(sampling.max_tokens, room),
            stop_token_ids=list(self._ends),
            detokenize=False,
            logprobs=0,
        )

    def _completion(self, request: Request, output: Any) -> Completion:
        """An answer; one whose logits overflowed is cut off there, as a perturbation can do to 16-bit weights."""
        tokens = list(output.token_ids)
        finish: Literal["stop", "length"] = "stop" if tokens and tokens[-1] in self._ends else "length"
        if not math.isfinite(output.cumulative_logprob or 0.0):
            drawn = [table[token].logprob for token, table in zip(tokens, output.logprobs, strict=True)]
            tokens = tokens[: [*map(math.isfinite, drawn), False].index(False)]
            finish = "length"
        answer = Completion(request.id, self._codec.decode(tokens), finish, len(tokens))
        return stopped(answer, request.sampling.stop)

    def _require_idle(self) -> None:
        if self._llm.llm_engine.has_unfinished_requests():
            raise RuntimeError("expected nothing at work when weights may move, but requests are unfinished")


def salt_of(version: int, member: Member | None) -> str:
    """What cached keys and values belong to: no two states of the weights in one process share it."""
    return json.dumps([version, None if member is None else wire.pack_member(member)])


def serve_model(path: Path, *, chat: bool, options: VllmOptions, policy: WeightPolicy, threads: int = 1) -> VllmModel:
    """Load a model folder into vLLM and take over its weights. `options.environment()` has to be set before.

    Args:
        path: The model folder.
        chat: Whether prompts go through the tokenizer's chat template.
        options: How vLLM serves it.
        policy: How weights are kept and moved.
        threads: Threads of each rank that write weights.

    Raises:
        ModelError: If vLLM is not installed, the model or its low-rank members cannot be served exactly, or the scope
            is empty.
        ConfigError: If there are to be low-rank members and the scope is not that of the matrices.
    """
    check_rank(options.rank, policy)
    folder = inspect_folder(path)
    require_supported(folder)
    ends = end_tokens(folder)
    llm = start_vllm(folder, options)
    shards = Shards(llm.collective_rpc, folder, policy, threads, has_adapters=options.rank > 0)
    adapters = None
    if options.rank:
        adapters = Adapters(llm.llm_engine, shards.movable, rank=options.rank, slots=options.members)
    if options.is_probed:
        look = make_look(llm)
        require_moving(shards.parameters, shards.nudge, look)
        if adapters is not None:
            require_adapting(shards.movable, shards.nudge, look, partial(_look_with, adapters, look))
    return VllmModel(llm, shards, make_codec(folder, ends, chat=chat), ends, adapters)


def _look_with(adapters: Adapters, look: Callable[..., Table], member: Member, tensor: str) -> Table:
    with adapters.trial(member, tensor) as adapter:
        return look(adapter)


def main(
    descriptor: int, *, path: str, chat: bool, options: dict[str, Any], policy: dict[str, Any], threads: int = 1
) -> None:
    """Entry point of the process; returns only by ending it.

    Args:
        descriptor: Number of the inherited pipe to the engine.
        path: The model folder.
        chat: See `serve_model`.
        options: Fields of a `VllmOptions`.
        policy: Fields of a `WeightPolicy`.
        threads: See `serve_model`.
    """
    chosen, kept = VllmOptions.model_validate(options), WeightPolicy.model_validate(policy)
    root = str(Path(__file__).resolve().parents[3])
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), root]))
    serve(descriptor, lambda: serve_model(Path(path), chat=chat, options=chosen, policy=kept, threads=threads))
