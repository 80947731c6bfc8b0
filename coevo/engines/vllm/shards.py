"""The weights of a vLLM model as one thing, though each of vLLM's worker processes holds only its shard.

Every call goes to all ranks by name with a few plain values; weights themselves never pass. Who answers for what is
decided here once: of a block that several ranks hold, one is the owner that counts it and exports it, and all must
agree on it.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.block import Block
from coevo.engines import wire
from coevo.engines.exporting import export_folder
from coevo.engines.guiding import load_guide
from coevo.engines.loading import ModelFolder
from coevo.engines.policy import WeightPolicy
from coevo.engines.scope import names_in_scope
from coevo.engines.vllm import map as vllm_map
from coevo.engines.vllm.map import Catalogue, assign_owners
from coevo.errors import ModelError
from coevo.interfaces import Member, Update

Call = Callable[..., list[Any]]


class Shards:
    """Weights spread over the ranks of one vLLM engine; the map is discovered and proven by the constructor.

    Args:
        rpc: `vllm.LLM.collective_rpc`: calls a method of every worker and returns the answers by rank.
        folder: The model folder.
        policy: How weights are kept and moved.
        threads: Threads of each rank that write weights.
        has_adapters: Whether low-rank members are served as adapters beside them.

    Raises:
        ModelError: If the model cannot be served with moving weights, naming the tensor, or its scope is empty.
    """

    def __init__(
        self, rpc: Call, folder: ModelFolder, policy: WeightPolicy, threads: int = 1, *, has_adapters: bool = False
    ) -> None:
        self._rpc = rpc
        self._folder = folder
        self._scope = policy.scope
        maps = self._ask("discover", str(folder.path), has_adapters)
        self.shapes = {name: folder.tensors[name].shape for name in sorted(maps[0]["tensors"])}
        found = [[vllm_map.unpack(values) for values in each["blocks"]] for each in maps]
        guide = load_guide(policy, folder, self.shapes)
        self._guided = tuple(guide.parts) if guide else ()
        self.ranks = assign_owners(found, Catalogue(self.shapes))
        packed = [[vllm_map.pack(placed) for placed in blocks] for blocks in self.ranks]
        types = {name for names in self._ask("serve", packed, policy.model_dump(), threads) for name in names}
        if len(types) != 1:
            raise ModelError(
                f"expected all weights to be kept in one type under update rule {policy.update_rule!r}, got "
                f"{sorted(types)}; use --update-rule master"
            )
        self._dtype = np.dtype(types.pop())

    @property
    def parameters(self) -> dict[str, list[str]]:
        """Runtime parameter -> the checkpoint tensors in it that move."""
        found: dict[str, dict[str, None]] = {}
        movable = self.movable
        for placed in (placed for blocks in self.ranks for placed in blocks if placed.block.tensor in movable):
            found.setdefault(placed.parameter, {})[placed.block.tensor] = None
        return {name: list(tensors) for name, tensors in found.items()}

    @property
    def movable(self) -> dict[str, tuple[int, ...]]:
        """Checkpoint name -> shape of the tensors in scope."""
        return {name: self.shapes[name] for name in names_in_scope(self._scope, self.shapes, self._guided)}

    def activate(self, member: Member | None) -> None:
        """Serve a member, or the base for None."""
        self._ask("activate", None if member is None else wire.pack_member(member))

    def commit(self, update: Update) -> None:
        """Move the base along an update and serve it."""
        self._ask("commit", wire.pack_update(update))

    def nudge(self, tensors: Sequence[str], member: Member | None) -> None:
        """Serve a member in some tensors alone, or put them back; only before anything has moved."""
        self._ask("nudge", list(tensors), None if member is None else wire.pack_member(member))

    def fingerprint(self) -> int:
        """Fingerprint of the unperturbed weights.

        Raises:
            ModelError: Naming a tensor on which ranks that share a part of it disagree.
        """
        parts: dict[Block, int] = {}
        for blocks, answers in zip(self.ranks, self._ask("fingerprint"), strict=True):
            for placed, part in zip(blocks, answers, strict=True):
                if parts.setdefault(placed.block, part) != part:
                    raise ModelError(
                        f"expected every copy of tensor {placed.block.tensor!r} to hold the same weights, got two "
                        "fingerprints; check the memory of this machine and resume the run"
                    )
        return sum(parts.values()) % 2**64

    def export(self, folder: Path) -> None:
        """Write the unperturbed weights as a model folder, in checkpoint names."""
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".shards-", dir=folder) as scratch:
            files = {name: Path(scratch) / str(number) for number, name in enumerate(self.shapes)}
            bases: Mapping[str, NDArray[Any]] = {
                name: np.memmap(file, self._dtype, "w+", shape=self.shapes[name] or (1,))
                for name, file in files.items()
            }
            self._ask("export", {name: str(file) for name, file in files.items()})
            export_folder(self._folder, folder, bases)

    def _ask(self, method: str, *values: Any) -> list[Any]:
        """Every rank's answer, by rank.

        Raises:
            ModelError: If a rank reports one.
            RuntimeError: If a rank fails otherwise.
        """
        answers = self._rpc(f"coevo_{method}", args=values)
        for answer in answers:
            if "error" in answer:
                raise ModelError(answer["error"])
            if "failure" in answer:
                raise RuntimeError(f"a part of the model failed in {method}: {answer['failure']}")
        return [answer["value"] for answer in answers]
