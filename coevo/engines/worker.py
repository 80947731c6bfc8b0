"""A worker process: one copy of the model, one conversation with the engine, nothing else.

Started by `coevo.engines.worker_process`. It ignores interrupts (the engine decides when to stop) and ends at once when
the engine is gone, whatever it is doing.
"""

import logging
import os
import queue
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

from coevo.engines import wire
from coevo.errors import CoevoError

_ORPHAN_CHECK_S = 0.5


class Servant(Protocol):
    """What a worker serves; `coevo.engines.torch_worker.ServedModel` is the model of it."""

    def answer(self, requests: list[wire.Message]) -> Iterator[list[wire.Message]]:
        """Complete packed requests that belong together; yields packed completions as they come."""

    def commit(self, updates: list[wire.Message]) -> None:
        """Apply packed updates in order."""

    def fingerprint(self) -> int:
        """Fingerprint of the unperturbed weights."""

    def export(self, folder: Path) -> None:
        """Write the unperturbed weights as a model folder."""


def serve(descriptor: int, load: Callable[[], Servant]) -> None:
    """Load a model and answer the engine for ever; returns only by ending the process.

    Args:
        descriptor: Number of the inherited pipe to the engine.
        load: Makes the model; its errors reach the user as one line.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    connection = Connection(descriptor)
    inbox: queue.SimpleQueue[wire.Message] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(connection, inbox, os.getppid()), daemon=True).start()
    try:
        model = load()
        wire.send(connection, {"ready": True})
        _converse(connection, model, inbox)
    except CoevoError as error:
        wire.send(connection, {"error": str(error)})
    except BrokenPipeError:
        os._exit(1)
    except OSError as error:
        place = error.filename or "a file or pipe"
        wire.send(connection, {"error": f"a model worker failed: {error.strerror}: {place}; check disk and memory"})


def _converse(connection: Connection, model: Servant, inbox: "queue.SimpleQueue[wire.Message]") -> None:
    """Do what the engine asks, in its order, for ever."""
    while True:
        message: dict[str, Any] = inbox.get()
        match message["do"]:
            case "generate":
                for completions in model.answer(message["requests"]):
                    wire.send(connection, {"ticket": message["ticket"], "completions": completions, "done": False})
                wire.send(connection, {"ticket": message["ticket"], "completions": [], "done": True})
            case "commit":
                model.commit(message["updates"])
                wire.send(connection, {"fingerprint": model.fingerprint()})
            case "fingerprint":
                wire.send(connection, {"fingerprint": model.fingerprint()})
            case "export":
                model.export(Path(message["folder"]))
                wire.send(connection, {"exported": message["folder"]})


def _listen(connection: Connection, inbox: "queue.SimpleQueue[wire.Message]", parent: int) -> None:
    """Take messages off the pipe as they come, so the engine never blocks on it; end the process with its parent."""
    try:
        while os.getppid() == parent:
            if connection.poll(_ORPHAN_CHECK_S):
                inbox.put(wire.receive(connection))
    except (EOFError, OSError):
        pass
    os._exit(1)
