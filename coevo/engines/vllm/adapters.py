"""Low-rank members as adapters of vLLM, so that members and base answer in one batch.

A member adds sign · sigma/√r · A·Bᵀ to a matrix, which is an adapter with lora_A = Bᵀ and lora_B = (sign · sigma/√r)·A
and a scaling of 1. It is written as a folder in PEFT's format and checkpoint names, which vLLM maps to its own fused
and sharded layers; vLLM copies it into one of its slots, and the folder is gone before anything is asked.

Adapters are kept while members of their step are asked, and released when the weights move. Never more are loaded than
there are slots, so which slots are used is known: vLLM's product on the CPU reads the last slot for the rows of the
base, and that one has to stay empty (see `VllmOptions.engine_arguments`).
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from coevo.engines.checkpoint import FloatArray, write_checkpoint
from coevo.engines.low_rank import member_scale
from coevo.engines.vllm.config import module_suffixes
from coevo.errors import ModelError, one_line
from coevo.interfaces import Member, Request

Shape = tuple[int, ...]

_MEMORY = Path("/dev/shm")
_PEFT_PREFIX = "base_model.model."


class Adapters:
    """The members that are loaded into vLLM's slots.

    Args:
        engine: The `llm_engine` of a `vllm.LLM` that was started with adapters.
        shapes: Checkpoint name -> shape of every matrix that members move.
        rank: The highest rank of a member that is served by an adapter.
        slots: Most members that are loaded at once.
    """

    def __init__(self, engine: Any, shapes: Mapping[str, Shape], *, rank: int, slots: int) -> None:
        self.slots = slots
        self._engine = engine
        self._shapes = shapes
        self._rank = rank
        # vLLM tells adapters apart by their numbers, so none is ever used twice.
        self._numbers = count(1)
        self._loaded: dict[Member, Any] = {}

    def serves(self, member: Member) -> bool:
        """Whether a member can be served by an adapter; others need weights that move."""
        return 0 < member.rank <= self._rank and member.partition is None

    def hold(self, members: Sequence[Member]) -> dict[Member, Any]:
        """Load members that are not loaded yet.

        Args:
            members: Different members of at most as many as there are slots.

        Returns:
            vLLM's request of each member's adapter.

        Raises:
            ModelError: If vLLM does not take an adapter.
        """
        if len(members) > self.slots:
            raise ValueError(f"expected at most {self.slots} members at once, got {len(members)}")
        steps = {(member.run_key, member.step) for member in members}
        self._drop([member for member in self._loaded if (member.run_key, member.step) not in steps])
        spare = [member for member in self._loaded if member not in members]
        missing = [member for member in members if member not in self._loaded]
        self._drop(spare[: max(0, len(self._loaded) + len(missing) - self.slots)])
        for member in missing:
            self._loaded[member] = self._load(member, self._shapes)
        return {member: self._loaded[member] for member in members}

    def release(self) -> None:
        """Take every adapter out of vLLM."""
        self._drop(list(self._loaded))

    @contextmanager
    def trial(self, member: Member, tensor: str) -> Iterator[Any]:
        """An adapter that moves one tensor alone, loaded for the time of the context; gives vLLM's request of it."""
        self.release()
        asked = self._load(member, {tensor: self._shapes[tensor]})
        try:
            yield asked
        finally:
            self._engine.remove_lora(asked.lora_int_id)

    def _drop(self, members: Sequence[Member]) -> None:
        for member in members:
            self._engine.remove_lora(self._loaded.pop(member).lora_int_id)

    def _load(self, member: Member, shapes: Mapping[str, Shape]) -> Any:
        number, request = next(self._numbers), import_module("vllm.lora.request").LoRARequest
        scratch = _scratch(member.rank, shapes)
        with tempfile.TemporaryDirectory(prefix=f"coevo-adapter-{os.getpid()}-", dir=scratch) as folder:
            write_adapter(Path(folder), shapes, member)
            asked = request(f"member {member.identity}, adapter {number}", number, folder)
            try:
                self._engine.add_lora(asked)
            except Exception as error:  # whatever vLLM or the model's layers raise
                self._engine.remove_lora(number)  # one that was taken half-way would keep its slot
                reason = one_line(error, 300)
                raise ModelError(
                    f"expected vLLM to take a low-rank member as an adapter, got {type(error).__name__}: {reason}; "
                    "use dense members, or the engine 'torch'"
                ) from error
        return asked


def write_adapter(folder: Path, shapes: Mapping[str, Shape], member: Member) -> None:
    """Write a low-rank member as an adapter in PEFT's format.

    Args:
        folder: An empty folder.
        shapes: Checkpoint name -> shape (rows, cols) of each matrix that the member moves; names end in ".weight".
        member: A member of rank r ≥ 1. lora_A = Bᵀ has shape (r, cols), lora_B = (sign · sigma/√r)·A (rows, r), fp32.
    """
    # Not before vLLM has started: it looks into every module that is loaded, and trips over those behind Numba.
    from coevo.noise import factors

    arrays: dict[str, FloatArray] = {}
    for name, shape in shapes.items():
        left, right = factors(name, shape, member)
        module = _PEFT_PREFIX + name.removesuffix(".weight")
        arrays[f"{module}.lora_A.weight"] = np.ascontiguousarray(right.T)
        arrays[f"{module}.lora_B.weight"] = member_scale(member) * left
    write_checkpoint(
        folder / "adapter_model.safetensors", arrays, {name: array.shape for name, array in arrays.items()}
    )
    config = {
        "peft_type": "LORA",
        "r": member.rank,
        "lora_alpha": member.rank,  # vLLM multiplies by alpha / r
        "target_modules": module_suffixes(shapes),
        "bias": "none",
    }
    (folder / "adapter_config.json").write_text(json.dumps(config))


def split_by_members(requests: Sequence[Request], slots: int) -> list[list[Request]]:
    """Requests in batches of at most `slots` members each; those of the base, and all of a member, stay together.

    Members fill the batches in order of first appearance, the base goes with the first of them.
    """
    members = list(dict.fromkeys(request.member for request in requests if request.member is not None))
    batch_of = {member: place // slots for place, member in enumerate(members)}
    batches: dict[int, list[Request]] = {}
    for request in requests:
        batches.setdefault(0 if request.member is None else batch_of[request.member], []).append(request)
    return [batches[number] for number in sorted(batches)]


def _scratch(rank: int, shapes: Mapping[str, Shape]) -> Path | None:
    """Memory that takes files, where there is some with room for an adapter; None for the usual place."""
    num_bytes = 4 * rank * sum(sum(shape) for shape in shapes.values())
    if not (_MEMORY.is_dir() and os.access(_MEMORY, os.W_OK)):
        return None
    return _MEMORY if shutil.disk_usage(_MEMORY).free > 2 * num_bytes else None
