"""A worker process whose model is served by vLLM, under whatever interpreter has vLLM.

Weights move inside vLLM's own processes (`coevo.engines.vllm_extension`); this one schedules. Members never share
cached keys and values: every prompt carries a salt that names the member and the version of the weights, and an update
empties the cache. Nothing is in flight when weights move, because answers are collected before anything else is done.

vLLM draws with its own generators (on the CPU from the lower 32 bits of a seed), so texts differ from those of the
other engines, and in the last bits of the logits they may depend on what else is in the batch; the weights never do.
"""

import json
import math
import os
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, Literal

from coevo.engines import wire
from coevo.engines.loading import ModelFolder, inspect_folder
from coevo.engines.policy import WeightPolicy
from coevo.engines.tokens import Codec, end_tokens, make_codec
from coevo.engines.vllm_canary import require_moving
from coevo.engines.vllm_config import VllmOptions, require_supported
from coevo.engines.vllm_shards import Shards
from coevo.engines.worker import serve
from coevo.errors import ModelError
from coevo.interfaces import Completion, Member, Request

_CANARY_TOKENS = 8
_CANARY_LOGPROBS = 16
_SEED_BITS = 2**63 - 1
"""vLLM keeps seeds as signed 64-bit numbers."""


class VllmModel:
    """A model in vLLM. See `coevo.engines.worker.Servant`.

    Args:
        llm: A `vllm.LLM`.
        shards: Its weights.
        codec: Of the same model.
        ends: Tokens that end an answer.
    """

    def __init__(self, llm: Any, shards: Shards, codec: Codec, ends: tuple[int, ...]) -> None:
        self._llm = llm
        self._shards = shards
        self._codec = codec
        self._ends = ends
        self._version = 0
        self._context = int(llm.llm_engine.vllm_config.model_config.max_model_len)

    def answer(self, requests: list[wire.Message]) -> Iterator[list[wire.Message]]:
        """Complete packed requests, those of each member together; yields packed completions as they come."""
        by_member: dict[Member | None, list[Request]] = {}
        for request in map(wire.unpack_request, requests):
            by_member.setdefault(request.member, []).append(request)
        for member, members_requests in by_member.items():
            self._require_idle()
            self._shards.activate(member)
            yield from self._complete(members_requests)

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
        """Answer requests of the member that is served; a prompt that leaves no room is answered at once, empty."""
        prompts = [self._codec.encode(request.text) for request in requests]
        rooms = [self._context - len(prompt) for prompt in prompts]
        hopeless = [request for request, room in zip(requests, rooms, strict=True) if room < 1]
        if hopeless:
            yield [wire.pack_completion(Completion(request.id, "", "length", 0)) for request in hopeless]
        fitting = [place for place, room in enumerate(rooms) if room >= 1]
        if not fitting:
            return
        salt = salt_of(self._version, requests[0].member)
        outputs = self._llm.generate(
            [{"prompt_token_ids": prompts[place], "cache_salt": salt} for place in fitting],
            [self._parameters(requests[place], rooms[place]) for place in fitting],
            use_tqdm=False,
        )
        answers = zip((requests[place] for place in fitting), outputs, strict=True)
        yield [wire.pack_completion(self._completion(request, output.outputs[0])) for request, output in answers]

    def _parameters(self, request: Request, room: int) -> Any:
        sampling = request.sampling
        return import_module("vllm").SamplingParams(
            temperature=sampling.temperature,
            top_p=sampling.top_p,
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
        return Completion(request.id, self._codec.decode(tokens), finish, len(tokens))

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
        ModelError: If vLLM is not installed, the model cannot be served exactly, or the scope is empty.
    """
    folder = inspect_folder(path)
    require_supported(folder)
    ends = end_tokens(folder)
    llm = start_vllm(folder, options)
    shards = Shards(llm.collective_rpc, folder, policy, threads)
    if options.is_probed:
        require_moving(shards.parameters, shards.nudge, make_look(llm))
    return VllmModel(llm, shards, make_codec(folder, ends, chat=chat), ends)


def start_vllm(folder: ModelFolder, options: VllmOptions) -> Any:
    """A `vllm.LLM` whose worker processes carry coevo's extension.

    Raises:
        ModelError: If vLLM is not installed or cannot load the model.
    """
    try:
        vllm, platform = import_module("vllm"), import_module("vllm.platforms").current_platform
    except ImportError as error:
        raise ModelError(
            f"expected the package vllm in the environment of {sys.executable}, found none ({error}); "
            "name an interpreter that has it"
        ) from error
    try:
        return vllm.LLM(**options.engine_arguments(folder, is_cpu=platform.is_cpu()))
    except Exception as error:  # whatever vLLM or the model's code raises
        reason = " ".join(str(error).split())[:300]
        raise ModelError(
            f"expected a model that vLLM can serve in {folder.path}, got {type(error).__name__}: {reason}; "
            "use the engine 'torch' or other options"
        ) from error


def make_look(llm: Any) -> Callable[[], Hashable]:
    """What `coevo.engines.vllm_canary` watches: the likeliest continuations of a fixed prompt, computed afresh."""
    vocabulary = int(llm.llm_engine.vllm_config.model_config.get_vocab_size())
    prompt = [token % vocabulary for token in range(1, 1 + _CANARY_TOKENS)]
    few = min(_CANARY_LOGPROBS, vocabulary)
    parameters = import_module("vllm").SamplingParams(
        temperature=0.0, max_tokens=2, ignore_eos=True, detokenize=False, logprobs=few
    )
    looks = count()

    def look() -> Hashable:
        asked = {"prompt_token_ids": prompt, "cache_salt": f"look {next(looks)}"}
        (output,) = llm.generate([asked], parameters, use_tqdm=False)
        return tuple((token, entry.logprob) for table in output.outputs[0].logprobs for token, entry in table.items())

    return look


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
    os.environ.update(chosen.environment())
    root = str(Path(__file__).resolve().parents[2])
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), root]))
    serve(descriptor, lambda: serve_model(Path(path), chat=chat, options=chosen, policy=kept, threads=threads))
