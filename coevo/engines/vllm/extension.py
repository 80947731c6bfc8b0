"""Methods that vLLM adds to each of its own worker processes: the weights of one rank, and what moves them.

Called by name through `collective_rpc` with plain values and answering with plain values, because nothing else passes
between vLLM's processes under its default settings. Errors are answers too: an exception would arrive as a mere "worker
failed", and leave the answers of the other workers in the queue for the next call. Every name begins with `coevo_` so
that none meets one of vLLM's.

Importing this module turns vLLM's packing of CPU weights off: it is imported by each worker process just before the
model is loaded, and older versions of vLLM offer no other hook there.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any, Concatenate, ParamSpec

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from coevo.block import Block, matrix_shape
from coevo.engines import wire
from coevo.engines.checkpoint import TensorInfo
from coevo.engines.guiding import load_guide
from coevo.engines.loading import ModelFolder, inspect_folder
from coevo.engines.policy import WeightPolicy
from coevo.engines.storage import STORAGE, to_storage
from coevo.engines.torch_cells import block_cells, storage_name
from coevo.engines.tying import own_names
from coevo.engines.vllm import map as vllm_map
from coevo.engines.vllm.config import require_plain
from coevo.engines.vllm.live import keep_weights_live, require_live, without_adapters
from coevo.engines.vllm.map import Placed
from coevo.engines.vllm.probe import read_map, served_parameters
from coevo.engines.weights import Weights
from coevo.errors import CoevoError
from coevo.interfaces import Member

P = ParamSpec("P")
Answer = dict[str, Any]

keep_weights_live()


@dataclass
class Shard:
    """What one rank holds."""

    folder: ModelFolder
    parameters: Mapping[str, Tensor]
    tensors: Mapping[str, TensorInfo]
    placed: list[Placed] = field(default_factory=list)
    weights: Weights = field(default_factory=lambda: Weights([]))


def _answers(method: Callable[Concatenate[Any, P], Any]) -> Callable[Concatenate[Any, P], Answer]:
    """Turn a result into {"value": …}, an error for the user into {"error": …}, and any other into {"failure": …}."""

    @wraps(method)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Answer:
        try:
            with torch.no_grad():
                value = method(self, *args, **kwargs)
            if self.device.type != "cpu":
                torch.accelerator.synchronize()
        except CoevoError as error:
            return {"error": str(error)}
        except Exception as error:  # one that left a worker would leave the answers of the others behind, unread
            return {"failure": f"{type(error).__name__}: {error}"}
        return {"value": value}

    return call


class WeightsExtension:
    """Mixed into vLLM's worker class; `coevo_shard` is the only attribute it adds to a worker."""

    @_answers
    def coevo_discover(self: Any, path: str, has_adapters: bool) -> Answer:
        """Read the map of this rank off the model and prove it; the checkpoint's weights are served again afterwards.

        Args:
            path: The model folder.
            has_adapters: Whether low-rank members are served as adapters.

        Returns:
            The packed "blocks" of this rank, and the names of all checkpoint "tensors" that have weights of their own.
        """
        if hasattr(self, "coevo_shard"):
            raise RuntimeError("a worker's map is discovered once, and vLLM's worker has no attribute coevo_shard")
        model = self.model_runner.get_model()
        require_plain(self.vllm_config, has_adapters=has_adapters)
        require_live(model)
        with without_adapters(model), import_module("vllm.config").set_current_vllm_config(self.vllm_config):
            folder = inspect_folder(Path(path))
            shard = Shard(folder, served_parameters(model), _weights_of(folder, self.model_config.hf_config))
            placed = read_map(model.load_weights, shard.parameters, shard.tensors)
        self.coevo_shard = shard
        return {"blocks": [vllm_map.pack(block) for block in placed], "tensors": list(shard.tensors)}

    @_answers
    def coevo_serve(self: Any, blocks: list[Answer], policy: Answer, threads: int) -> list[str]:
        """Make the base of every block and serve it.

        Args:
            blocks: This rank's packed blocks as the coordinator cut them: one list per rank.
            policy: Fields of a `WeightPolicy`.
            threads: Threads that write weights.

        Returns:
            The types in which this rank keeps its bases.
        """
        shard: Shard = self.coevo_shard
        shard.placed = [vllm_map.unpack(values) for values in blocks[self.rank]]
        served = [(placed.block, _served(shard, placed)) for placed in shard.placed]
        kept = WeightPolicy.model_validate(policy)
        guide = load_guide(kept, shard.folder, shard.tensors)
        shard.weights = Weights(block_cells(served, shard.tensors, kept, guide), threads)
        return sorted({base.dtype.name for _, base in shard.weights.bases()})

    @_answers
    def coevo_activate(self: Any, member: Answer | None) -> None:
        """Serve a packed member, or the base for None."""
        self.coevo_shard.weights.activate(None if member is None else wire.unpack_member(member))

    @_answers
    def coevo_commit(self: Any, update: Answer) -> None:
        """Move the base along a packed update."""
        self.coevo_shard.weights.commit(wire.unpack_update(update))

    @_answers
    def coevo_fingerprint(self: Any) -> list[int]:
        """What each block adds to the fingerprint, in the order of `coevo_serve`."""
        return [part for _, part in self.coevo_shard.weights.parts()]

    @_answers
    def coevo_export(self: Any, files: dict[str, str]) -> None:
        """Write the bases this rank owns into flat files of whole tensors that exist already.

        Args:
            files: Checkpoint name -> file.
        """
        shard: Shard = self.coevo_shard
        for placed, (block, base) in zip(shard.placed, shard.weights.bases(), strict=True):
            if placed.is_owned:
                _write_block(Path(files[block.tensor]), block, base)

    @_answers
    def coevo_nudge(self: Any, tensors: list[str], member: Answer | None) -> None:
        """Serve a packed member of the checkpoint's weights in some tensors alone; None puts them back.

        Only for checks before anything has moved: it goes past the state that `coevo_activate` keeps.
        """
        shard: Shard = self.coevo_shard
        for placed in shard.placed:
            if placed.block.tensor in tensors:
                _nudge(shard, placed, None if member is None else wire.unpack_member(member))


def _weights_of(folder: ModelFolder, config: Any) -> dict[str, TensorInfo]:
    """The checkpoint tensors that have weights of their own."""
    # Where the file is silent, its class decides what vLLM has built.
    silent = getattr(config.get_text_config(), "tie_word_embeddings", None)
    shapes = {name: info.shape for name, info in folder.tensors.items()}
    names = own_names(shapes, {"tie_word_embeddings": silent} | dict(folder.config))
    return {name: folder.tensors[name] for name in names}


def _served(shard: Shard, placed: Placed) -> Tensor:
    """The memory a block is served from, shape (rows, cols)."""
    block = placed.block
    rows = slice(placed.row, placed.row + block.rows)
    return shard.parameters[placed.parameter][rows, placed.col : placed.col + block.cols]


def _nudge(shard: Shard, placed: Placed, member: Member | None) -> None:
    from coevo.noise import perturb

    served = _served(shard, placed)
    stored = STORAGE[storage_name(served.dtype)]
    values = shard.tensors[placed.block.tensor].read_block(placed.block)
    out = to_storage(values, stored)
    if member is not None:
        out = np.empty(values.shape, stored)
        perturb(values, out, placed.block, member)
    served.copy_(torch.from_numpy(out).view(served.dtype))


def _write_block(file: Path, block: Block, base: NDArray[Any]) -> None:
    """Put a block where it lies in its whole tensor."""
    whole = np.memmap(file, base.dtype, "r+", shape=matrix_shape(block.shape))
    whole[block.row : block.row + block.rows, block.col : block.col + block.cols] = base
    whole.flush()
