"""One check after the other, each within its time; a worker that hangs or dies is a finding, and is replaced."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from coevo.child_environ import child_environ
from coevo.evaluation.verdict import printable_line
from coevo.experiments.doctor.asked import Asked
from coevo.experiments.doctor.checks import CHECKS, Check, allowed_s
from coevo.experiments.doctor.finding import Finding, failed, warned
from coevo.sandbox.wire import Channel, ChannelClosedError, DeadlineError

_START_S = 60.0
"""For starting the worker itself, on top of what a check may take."""
_END_S = 20.0
"""For a worker to close what it has open, before it is killed."""

Begin = Callable[[str], None]


def examine(
    asked: Asked, begin: Begin = lambda _: None, limits: Mapping[str, float] | None = None
) -> Generator[Finding, None, None]:
    """Every finding about a run, as it is made; nothing is left behind, also if it is not read to its end.

    Args:
        asked: What is meant.
        begin: Told the name of each check before it is run.
        limits: Other limits than a check's own, in seconds by its name.
    """
    states: dict[str, str] = {}
    with Attendant(asked) as attendant:
        for check in CHECKS:
            if not check.applies(asked):
                continue
            begin(check.name)
            if states.get(check.needs) == "fail":
                finding = warned(check.name, f"not looked at, because {check.needs} failed", "repair that first")
            else:
                finding = attendant.ask(check, (limits or {}).get(check.name, allowed_s(check, asked)))
            states[check.name] = finding.state
            yield finding


class Attendant:
    """The worker process, seen from outside. A context manager.

    Args:
        asked: What is meant; every worker resolves it anew.
    """

    def __init__(self, asked: Asked) -> None:
        self._wish = asked.wish.model_dump_json()
        # Whatever a worker that had to be killed leaves in temporary files, is in here.
        self._folder = Path(tempfile.mkdtemp(prefix="coevo-doctor-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None

    def ask(self, check: Check, limit_s: float) -> Finding:
        """The finding of a check; that the process dies or takes too long is one, too."""
        slack_s = 0.0 if self._process else _START_S
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        deadline = time.monotonic() + limit_s + slack_s
        channel = Channel(process.stdout.fileno(), process.stdin.fileno(), deadline=deadline)
        try:
            channel.send({"check": check.name})
            answer, _ = channel.receive()
        except DeadlineError:
            self._end()
            return failed(check.name, f"still running after {limit_s:g} s", "see what hangs or what the machine does")
        except ChannelClosedError:
            return failed(check.name, f"the process of this check died: {self._last_words()}", "check the memory")
        return Finding(**answer)

    def close(self) -> None:
        """Let the worker close what it has open, end it with all that it started, and remove its files."""
        if (process := self._process) is not None and process.stdin is not None:
            process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_END_S)
        self._end()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _start(self) -> subprocess.Popen[bytes]:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "coevo.experiments.doctor.worker", self._wish],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env=child_environ(TMPDIR=str(self._folder)),
            start_new_session=True,
            bufsize=0,
        )
        return self._process

    def _end(self) -> None:
        """Kill the process and its group: engines are in there; judges, tools and browsers end with their owner."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout, self._said):
            if pipe is not None:
                pipe.close()

    def _last_words(self) -> str:
        """How the dead process ended and what it said last."""
        assert self._process is not None
        assert self._said is not None
        process, said = self._process, self._said
        try:
            code = process.wait(_END_S)
        except subprocess.TimeoutExpired:
            code = None
        said.seek(0)
        lines = said.read().decode(errors="replace").strip().splitlines()
        self._end()
        how = "it closed its pipe" if code is None else f"exit code {code}"
        return printable_line(f"{how}, {lines[-1]}" if lines else how)
