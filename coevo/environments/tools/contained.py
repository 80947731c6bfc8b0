"""One bubblewrap with the supervisor in it: start it, ask it, end it."""

import json
import os
import re
import select
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from typing import IO, Any

from coevo.environments.tools.calls import build_filter
from coevo.errors import SandboxError, escaped

_START_S = 60.0
_STOP_S = 2.0
_MOST_ANSWER_BYTES = 1 << 24


class Contained:
    """A running sandbox; whatever goes wrong with it is a `SandboxError`.

    It ends when its standard input does, hence with this process, however that ends. Bubblewrap's own
    --die-with-parent is no use here: it follows the thread that started it, and threads come and go.

    Args:
        bwrap: The executable.
        arguments: Of bubblewrap, and the command.
    """

    def __init__(self, bwrap: str, arguments: Sequence[str]):
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop()
        self._received = bytearray()
        self._is_stopped = False
        self._lock = threading.Lock()
        try:
            program = build_filter()
            self._process, self._inner = _start(bwrap, arguments, program, self._errors)
        except (OSError, SandboxError) as error:
            self._errors.close()
            raise SandboxError(f"it could not be started: {error}") from error
        try:
            self._receive(time.monotonic() + _START_S)
        except SandboxError:
            self.stop()
            raise

    @property
    def pid(self) -> int:
        """Process id of bubblewrap."""
        return self._process.pid

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        with self._lock:
            if self._is_stopped:
                raise SandboxError("it was closed")
            assert self._process.stdin is not None
            try:
                data = memoryview(json.dumps(request).encode() + b"\n")
                while data:
                    data = data[os.write(self._process.stdin.fileno(), data) :]
            except OSError as error:
                raise SandboxError(self._last_words() or str(error)) from error
            return self._receive(time.monotonic() + seconds)

    def stop(self) -> None:
        """End it and reap it; safe to call twice, and from another thread than the one that waits for an answer."""
        if not self._lock.acquire(blocking=False):
            # Pipes are never closed under somebody who reads from them: their numbers may be used again at once.
            self._kill()
            self._lock.acquire()
        try:
            if not self._is_stopped:
                self._is_stopped = True
                self._stop()
        finally:
            self._lock.release()

    def _stop(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        if not self._has_ended():
            self._kill()
        if not self._has_ended():
            self._process.kill()
            self._process.wait()
        self._errors.close()

    def _kill(self) -> None:
        """End process 1, which takes everything inside with it; bubblewrap, were it killed, would leave that behind."""
        if self._inner is not None and self._process.poll() is None:
            os.kill(self._inner, signal.SIGKILL)

    def _has_ended(self) -> bool:
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _receive(self, deadline: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        poll = select.poll()
        poll.register(self._process.stdout, select.POLLIN)
        while b"\n" not in self._received:
            if not poll.poll(max(deadline - time.monotonic(), 0) * 1000):
                raise SandboxError("it does not answer")
            data = os.read(self._process.stdout.fileno(), 1 << 16)
            if not data or len(self._received) > _MOST_ANSWER_BYTES:
                raise SandboxError(self._last_words() or "it ended")
            self._received += data
        line, _, self._received = self._received.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _last_words(self) -> str:
        """The last line on its standard error, which no command ever holds."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").split("\n")
        return next((escaped(line.strip()) for line in reversed(lines) if line.strip()), "")


def _start(
    bwrap: str, arguments: Sequence[str], program: bytes, errors: IO[bytes]
) -> tuple["subprocess.Popen[bytes]", int | None]:
    """Bubblewrap, and the host's process id of process 1 inside, if it got so far."""
    program_fd, fill_fd = os.pipe()
    os.write(fill_fd, program)
    os.close(fill_fd)
    info_fd, said_fd = os.pipe()
    try:
        process = subprocess.Popen(
            [bwrap, "--seccomp", str(program_fd), "--info-fd", str(said_fd), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={},
            cwd="/",
            start_new_session=True,
            bufsize=0,
            pass_fds=(program_fd, said_fd),
        )
    except OSError:
        os.close(info_fd)
        raise
    finally:
        os.close(program_fd)
        os.close(said_fd)
    with os.fdopen(info_fd, "rb") as file:
        found = re.search(rb'"child-pid":\s*(\d+)', file.read())
    return process, int(found[1]) if found else None
