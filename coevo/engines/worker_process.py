"""Start, watch and end one worker process.

A plain subprocess rather than `multiprocessing`: the caller's `__main__` is not imported a second time, so a script
needs no `if __name__ == "__main__"` to use coevo, and thread counts can be set before NumPy and torch load.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Pipe
from pathlib import Path
from typing import Any

from coevo.engines import wire
from coevo.errors import ModelError

_BOOT = """
import importlib, json, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.path.append(sys.argv[1])
module, descriptor, options = json.loads(sys.argv[2])
importlib.import_module(module).main(descriptor, **options)
"""
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
_QUIET = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
}
_LAST_WORDS_BYTES = 4096


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """How to start every worker of an engine.

    Attributes:
        module: Its `main(descriptor, **options)` is the process.
        options: Plain values.
        path: The model folder, for messages.
        is_single_threaded: Whether libraries get one thread, as suits small models.
        python: The interpreter, which may belong to another environment; coevo's own code is put on its path.
        environment: Variables set besides.
    """

    module: str
    options: Mapping[str, Any]
    path: Path
    is_single_threaded: bool = False
    python: str = sys.executable
    environment: Mapping[str, str] = field(default_factory=dict)


class WorkerProcess:
    """One worker; the constructor returns before it has loaded its model."""

    def __init__(self, spec: WorkerSpec) -> None:
        self.connection, theirs = Pipe()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        try:
            self._process = subprocess.Popen(
                _command(spec, theirs.fileno()),
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                pass_fds=(theirs.fileno(),),
                env=_environment(spec),
            )
        finally:
            theirs.close()

    @property
    def pid(self) -> int:
        """Process number."""
        return self._process.pid

    def send(self, message: wire.Message) -> None:
        """Send a message; one to a dead worker is dropped, because its end shows when it is received from."""
        try:
            wire.send(self.connection, message)
        except OSError:
            return

    def receive(self) -> wire.Message:
        """The next message.

        Raises:
            EOFError: If the worker has died.
            ModelError: If it reports one.
        """
        try:
            message = wire.receive(self.connection)
        except OSError as error:
            raise EOFError from error
        if "error" in message:
            raise ModelError(message["error"])
        return message

    def wait_ready(self) -> None:
        """Block until the model is loaded.

        Raises:
            ModelError: If it cannot be, or if the worker dies over it.
        """
        try:
            self.receive()
        except EOFError as error:
            raise ModelError(f"expected a worker to load the model, but it died: {self.last_words()}") from error

    def last_words(self) -> str:
        """How the process ended and the last line it wrote, for an error message."""
        self.kill()
        size = os.fstat(self._log.fileno()).st_size
        self._log.seek(max(0, size - _LAST_WORDS_BYTES))
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return f"exit code {self._process.returncode}, {lines[-1] if lines else 'no output'}"

    def kill(self) -> None:
        """End the process now and reap it; the exit code of one that had ended already is kept."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Kill and release the pipe and the log; safe to call twice."""
        self.kill()
        self.connection.close()
        self._log.close()


def _command(spec: WorkerSpec, descriptor: int) -> list[str]:
    package_root = str(Path(__file__).resolve().parents[2])
    arguments = json.dumps([spec.module, descriptor, dict(spec.options)])
    # -P: a file named like a library in the user's current folder must not be imported in its place.
    return [spec.python, "-P", "-c", _BOOT, package_root, arguments]


def _environment(spec: WorkerSpec) -> dict[str, str]:
    pinned = dict.fromkeys(_THREAD_VARIABLES, "1") if spec.is_single_threaded else {}
    return {**os.environ, **_QUIET, **pinned, **spec.environment}
