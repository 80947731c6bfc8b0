"""A model that torch, or the lean decoder, serves in a worker process."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coevo.engines import wire
from coevo.engines.cells import whole_cells
from coevo.engines.decoding import Decoder, complete
from coevo.engines.exporting import export_folder
from coevo.engines.guiding import load_guide
from coevo.engines.llama_shape import lean_shape
from coevo.engines.loading import ModelFolder, inspect_folder
from coevo.engines.policy import WeightPolicy, check_rank
from coevo.engines.scope import roles
from coevo.engines.tokens import Codec, end_tokens, make_codec
from coevo.engines.weights import Weights
from coevo.engines.worker import serve

_LEAN_ROWS, _CPU_ROWS, _CUDA_ROWS = 24, 32, 64


@dataclass(frozen=True)
class ServedModel:
    """Everything a worker holds of one model."""

    folder: ModelFolder
    decoder: Decoder
    weights: Weights
    codec: Codec
    ends: tuple[int, ...]

    def answer(self, requests: list[wire.Message]) -> Iterator[list[wire.Message]]:
        """Complete packed requests that the same served weights answer; yields packed completions as they come.

        Those are the requests of one dense member, or those of the base and of low-rank members together.
        """
        unpacked = [wire.unpack_request(values) for values in requests]
        served = {request.member if request.member and request.member.rank == 0 else None for request in unpacked}
        if len(served) != 1:
            raise ValueError(f"expected requests of one dense member, or of none, got {served}")
        self.weights.activate(served.pop())
        for finished in complete(self.decoder, self.codec, self.ends, unpacked):
            yield [wire.pack_completion(completion) for completion in finished]

    def commit(self, updates: list[wire.Message]) -> None:
        """Apply packed updates in order."""
        for update in map(wire.unpack_update, updates):
            self.weights.commit(update)

    def fingerprint(self) -> int:
        """Fingerprint of the unperturbed weights."""
        return self.weights.fingerprint()

    def export(self, folder: Path) -> None:
        """Write the unperturbed weights as a model folder."""
        export_folder(self.folder, folder, {block.tensor: base for block, base in self.weights.bases()})


def serve_model(
    path: Path, *, chat: bool, device: str, threads: int, policy: WeightPolicy | None = None, rank: int = 0
) -> ServedModel:
    """Load a model folder, on the lean decoder if it fits and on transformers otherwise.

    Args:
        path: The model folder.
        chat: Whether prompts go through the tokenizer's chat template.
        device: "auto", "cpu", "cuda" or any other torch device.
        threads: Threads that write weights; 1 means a small model whose torch gets one thread as well.
        policy: How weights are kept and moved; the default policy if None.
        rank: Rank of the low-rank members that will answer, so that a model which cannot serve them is refused here.

    Raises:
        ModelError: If it cannot be loaded or served exactly.
        ConfigError: If the policy's scope is empty.
    """
    folder, policy = inspect_folder(path), policy or WeightPolicy()
    check_rank(rank, policy)
    ends = end_tokens(folder)
    shape = lean_shape(folder)
    if shape is not None and device in ("auto", "cpu"):
        from coevo.engines.lean_llama import LeanLlama

        lean = LeanLlama(shape, rows=_LEAN_ROWS)
        arrays = lean.arrays()
        cells = whole_cells(arrays, folder.tensors, policy, load_guide(policy, folder, arrays))
        weights = Weights(cells, threads)
        return ServedModel(folder, lean, weights, make_codec(folder, ends, chat=chat), ends)
    return serve_with_transformers(folder, chat=chat, device=device, threads=threads, policy=policy, rank=rank)


def serve_with_transformers(
    folder: ModelFolder, *, chat: bool, device: str, threads: int, policy: WeightPolicy, rank: int = 0
) -> ServedModel:
    """Serve a model folder with transformers, whatever the lean decoder could do; see `serve_model`."""
    import torch

    from coevo.engines import torch_model
    from coevo.engines.torch_cells import torch_cells
    from coevo.engines.torch_low_rank import LowRankLinears

    if threads == 1:
        torch.set_num_threads(1)
        device = "cpu" if device == "auto" else device
    device = torch_model.choose_device(device)
    ends = end_tokens(folder)
    model = torch_model.load_model(folder, device)
    parameters = torch_model.name_parameters(folder, model)
    cells = torch_cells(parameters, folder.tensors, policy, load_guide(policy, folder, parameters))
    weights = Weights(cells, threads if device == "cpu" else 1)
    rows = _CUDA_ROWS if device.startswith("cuda") else _CPU_ROWS
    by_role = roles({name: folder.tensors[name].shape for name in parameters})
    linears = LowRankLinears(model, parameters, [name for name, role in by_role.items() if role == "linear"])
    if rank > 0:
        linears.prepare()
    decoder = torch_model.TransformersDecoder(model, linears, rows=rows, padding=ends[0])
    return ServedModel(folder, decoder, weights, make_codec(folder, ends, chat=chat), ends)


def main(descriptor: int, *, path: str, policy: dict[str, Any], **options: Any) -> None:
    """Entry point of the process; returns only by ending it.

    Args:
        descriptor: Number of the inherited pipe to the engine.
        path: The model folder.
        policy: Fields of a `WeightPolicy`.
        options: The other arguments of `serve_model`.
    """
    serve(descriptor, lambda: serve_model(Path(path), policy=WeightPolicy.model_validate(policy), **options))
