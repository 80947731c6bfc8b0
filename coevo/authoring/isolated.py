"""The worker that runs a problem's own code, seen from outside: asked with a deadline, replaced when it dies."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from coevo.authoring.findings import Finding, failed
from coevo.child_environ import child_environ
from coevo.evaluation.verdict import printable_line
from coevo.sandbox.wire import Channel, ChannelClosedError, DeadlineError

_SLACK_S = 20.0
"""For starting the process, on top of what a check may take."""
_ENDING_S = 2.0
"""For a process to end after it has closed its pipe."""


class Isolated:
    """Runs checks of one problem folder in a process of its own, one at a time. A context manager.

    Args:
        folder: The problem folder.
        deadline_s: What one check may take on the clock.
    """

    def __init__(self, folder: Path, deadline_s: float):
        self._folder = folder
        self._deadline_s = deadline_s
        self._process: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None

    def ask(self, check: str) -> Finding:
        """The finding of a check; that the process dies or takes too long is one, too."""
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        deadline = time.monotonic() + self._deadline_s + _SLACK_S
        channel = Channel(process.stdout.fileno(), process.stdin.fileno(), deadline=deadline)
        try:
            channel.send({"check": check})
            answer, _ = channel.receive()
        except DeadlineError:
            self.close()
            return failed(f"still running after {self._deadline_s:g} s; is there an endless loop?")
        except ChannelClosedError:
            return failed(f"the process ended: {self._last_words()}")
        return Finding(answer["status"], answer["text"])

    def close(self) -> None:
        """End the process and whatever it started; the next question starts another."""
        process, self._process = self._process, None
        if process is None:
            return
        # It leads a session of its own, and its questions to further processes stay in there.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout, self._said):
            if pipe is not None:
                pipe.close()

    def _command(self) -> list[str]:
        """Module of the worker and its arguments."""
        return ["coevo.authoring.worker", str(self._folder), str(self._deadline_s)]

    def _start(self) -> subprocess.Popen[bytes]:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", *self._command()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env=child_environ(),
            start_new_session=True,
            bufsize=0,
        )
        return self._process

    def _last_words(self) -> str:
        """How the dead process ended and what it said last."""
        assert self._process is not None
        assert self._said is not None
        process = self._process
        how = _ending(process.pid)
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        self.close()
        return printable_line(f"{how}: {lines[-1]}" if lines else how)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _ending(pid: int) -> str:
    """How a process ended that was heard no more; it is not reaped, because its group is still to be ended.

    A process that is still there has written what is no answer, or closed the pipe: it may go on for ever.
    """
    deadline = time.monotonic() + _ENDING_S
    while time.monotonic() < deadline:
        if (status := os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            is_exit = status.si_code == os.CLD_EXITED
            return f"exit code {status.si_status}" if is_exit else f"killed by {signal.Signals(status.si_status).name}"
        time.sleep(_ENDING_S / 100)
    return "it closed or garbled the pipe on which it answers"
