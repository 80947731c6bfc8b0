"""A worker process: one copy of the model, one conversation with the engine, nothing else.

Started by `coevo.engines.worker_process`. It ignores interrupts (the engine decides when to stop) and ends at once when
the engine is gone, whatever it is doing.
"""

import logging
import os
import queue
import shutil
import signal
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from coevo.engines import wire
from coevo.engines.checkpoint import INDEX_FILE, SINGLE_FILE, write_checkpoint
from coevo.engines.decoding import Decoder, complete
from coevo.engines.llama_shape import lean_shape
from coevo.engines.loading import ModelFolder, inspect_folder
from coevo.engines.parameters import ArrayStore, Weights
from coevo.engines.tokens import Codec, end_tokens, make_codec
from coevo.errors import ModelError

_ORPHAN_CHECK_S = 0.5
_CPU_ROWS, _CUDA_ROWS = 24, 64


@dataclass(frozen=True)
class ServedModel:
    """Everything a worker holds of one model."""

    folder: ModelFolder
    decoder: Decoder
    weights: Weights
    codec: Codec
    ends: tuple[int, ...]

    def answer(self, requests: list[wire.Message]) -> Iterator[list[wire.Message]]:
        """Complete packed requests of one member; yields packed completions as they come."""
        unpacked = [wire.unpack_request(values) for values in requests]
        self.weights.activate(unpacked[0].member)
        for finished in complete(self.decoder, self.codec, self.ends, unpacked):
            yield [wire.pack_completion(completion) for completion in finished]

    def export(self, folder: Path) -> None:
        """Write the base as a model folder: fp32 weights, and config, tokenizer and card as they were."""
        folder.mkdir(parents=True, exist_ok=True)
        for file in sorted(self.folder.path.iterdir()):
            if file.is_file() and file.name != INDEX_FILE and file.suffix != ".safetensors":
                shutil.copyfile(file, folder / file.name)
        shapes = {name: self.folder.tensors[name].shape for name in self.weights.base}
        write_checkpoint(folder / SINGLE_FILE, self.weights.base, shapes)


def serve_model(path: Path, *, chat: bool, device: str, threads: int) -> ServedModel:
    """Load a model folder, on the lean decoder if it fits and on transformers otherwise.

    Args:
        path: The model folder.
        chat: Whether prompts go through the tokenizer's chat template.
        device: "auto", "cpu", "cuda" or any other torch device.
        threads: Threads that write weights; 1 means a small model whose torch gets one thread as well.

    Raises:
        ModelError: If it cannot be loaded or served exactly.
    """
    folder = inspect_folder(path)
    ends = end_tokens(folder)
    shape = lean_shape(folder)
    if shape is not None and device in ("auto", "cpu"):
        from coevo.engines.lean_llama import LeanLlama

        lean = LeanLlama(shape, rows=_CPU_ROWS)
        base = {name: folder.tensors[name].read() for name in shape.tensors()}
        weights = Weights(base, ArrayStore(lean.arrays()), threads)
        return ServedModel(folder, lean, weights, make_codec(folder, ends, chat=chat), ends)
    return _serve_with_transformers(folder, ends, chat=chat, device=device, threads=threads)


def _serve_with_transformers(
    folder: ModelFolder, ends: tuple[int, ...], *, chat: bool, device: str, threads: int
) -> ServedModel:
    import torch

    from coevo.engines import torch_model

    if threads == 1:
        torch.set_num_threads(1)
        device = "cpu" if device == "auto" else device
    device = torch_model.choose_device(device)
    model = torch_model.load_model(folder, device)
    parameters = torch_model.name_parameters(folder, model)
    base = {name: folder.tensors[name].read() for name in parameters}
    weights = Weights(base, torch_model.TorchStore(parameters), threads)
    rows = _CUDA_ROWS if device.startswith("cuda") else _CPU_ROWS
    decoder = torch_model.TransformersDecoder(model, rows=rows, padding=ends[0])
    return ServedModel(folder, decoder, weights, make_codec(folder, ends, chat=chat), ends)


def converse(connection: Connection, model: ServedModel, inbox: "queue.SimpleQueue[wire.Message]") -> None:
    """Do what the engine asks, in its order, for ever."""
    while True:
        message = inbox.get()
        match message["do"]:
            case "generate":
                for completions in model.answer(message["requests"]):
                    wire.send(connection, {"ticket": message["ticket"], "completions": completions, "done": False})
                wire.send(connection, {"ticket": message["ticket"], "completions": [], "done": True})
            case "commit":
                for update in map(wire.unpack_update, message["updates"]):
                    model.weights.commit(update)
                wire.send(connection, {"fingerprint": model.weights.fingerprint()})
            case "fingerprint":
                wire.send(connection, {"fingerprint": model.weights.fingerprint()})
            case "export":
                model.export(Path(message["folder"]))
                wire.send(connection, {"exported": message["folder"]})


def main(descriptor: int, path: str, chat: bool, device: str, threads: int) -> None:
    """Entry point of the process; returns only by ending it.

    Args:
        descriptor: Number of the inherited pipe to the engine.
        path: The model folder.
        chat: See `serve_model`.
        device: See `serve_model`.
        threads: See `serve_model`.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    connection = Connection(descriptor)
    inbox: queue.SimpleQueue[wire.Message] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(connection, inbox, os.getppid()), daemon=True).start()
    try:
        model = serve_model(Path(path), chat=chat, device=device, threads=threads)
        wire.send(connection, {"ready": True})
        converse(connection, model, inbox)
    except ModelError as error:
        wire.send(connection, {"error": str(error)})
    except BrokenPipeError:
        os._exit(1)


def _listen(connection: Connection, inbox: "queue.SimpleQueue[wire.Message]", parent: int) -> None:
    """Take messages off the pipe as they come, so the engine never blocks on it; end the process with its parent."""
    try:
        while os.getppid() == parent:
            if connection.poll(_ORPHAN_CHECK_S):
                inbox.put(wire.receive(connection))
    except (EOFError, OSError):
        pass
    os._exit(1)
