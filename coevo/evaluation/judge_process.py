"""The pool's handle on one judge: start it, ask it, replace it when it dies, end it."""

import logging
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from coevo.candidate import Evaluation
from coevo.child_environ import child_environ
from coevo.content import ProblemFolder
from coevo.errors import ContentError, SandboxError
from coevo.evaluation.verdict import printable_line
from coevo.interfaces import Instance
from coevo.sandbox.wire import Channel, ChannelClosedError, pack_instances

logger = logging.getLogger(__name__)

_ATTEMPTS = 2
"""Judges that may die under one candidate; the last death is its verdict."""
_STOP_S = 5.0


class JudgeDiedError(Exception):
    """The judge ended without an answer; or, after `close`, there is none any more."""


class JudgeLostError(Exception):
    """A judge elsewhere is gone without an answer; another one may be asked, and this one be started anew."""


class JudgeHandle(Protocol):
    """A judge as the pool uses it: `start` and `evaluate` from one thread, the rest from any."""

    def start(self) -> None:
        """Start the judge and wait until its sandbox is warm; once more after it was lost."""

    def is_there(self) -> bool:
        """Whether it can be asked at the moment; may take a while to be found out."""

    def evaluate(self, code: str, split: str, part: tuple[int, int] | None) -> Evaluation | int:
        """The verdict on one candidate, or the number of instances if the split has to be asked for in parts."""

    def terminate(self) -> None:
        """End it at once and for good. Does not wait."""

    def join(self) -> None:
        """Wait until it has ended."""

    def close(self) -> None:
        """Terminate and wait; only once no thread is inside `evaluate` any more."""


@dataclass(frozen=True, slots=True)
class Brief:
    """What every judge of a pool is started with.

    Attributes:
        problem: The problem, with whatever limits the caller has given its `spec`.
        bwrap: Bubblewrap executable, or None to run without a sandbox.
        numba_cache: Folder that judges fill and sandboxes read, or None.
        extra_splits: Instances of splits that the problem does not know.
    """

    problem: ProblemFolder
    bwrap: str | None
    numba_cache: Path | None
    extra_splits: Mapping[str, Sequence[Instance]] = field(default_factory=dict)

    def frame(self) -> tuple[dict[str, Any], list[memoryview]]:
        """The first message to a judge: header and payload."""
        flat = [instance for instances in self.extra_splits.values() for instance in instances]
        packed, parts = pack_instances(flat)
        start = {
            "op": "start",
            "problem": str(self.problem.path.resolve()),
            "spec": self.problem.spec.model_dump(mode="json"),
            "bwrap": self.bwrap,
            "numba_cache": None if self.numba_cache is None else str(self.numba_cache),
            "splits": {name: len(instances) for name, instances in self.extra_splits.items()},
        }
        return start | packed, parts


class JudgeProcess:
    """One judge, used by one thread of the pool; `terminate` and `join` may be called from any.

    The thread that calls `start` has to outlive the judge: the kernel ends a judge with the thread that started it.
    """

    def __init__(self, brief: Brief):
        self._brief = brief
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None
        self._is_closed = False

    @property
    def pid(self) -> int | None:
        """Process id, or None while there is no process."""
        process = self._process
        return None if process is None else process.pid

    def start(self) -> None:
        """Start the judge and wait until its sandbox is warm.

        Raises:
            JudgeDiedError: If the pool is closed meanwhile.
            SandboxError: If untrusted code cannot be contained here.
            ContentError: If the problem cannot be used.
        """
        with self._lock:
            if self._is_closed:
                raise JudgeDiedError("the pool is closed")
            self._process = process = _spawn(self._brief.numba_cache)
        assert process.stdin is not None
        assert process.stdout is not None
        self._channel = Channel(process.stdout.fileno(), process.stdin.fileno())
        header, parts = self._brief.frame()
        try:
            self._exchange(header, *parts)
        except JudgeDiedError as error:
            if self._is_closed:
                raise
            raise SandboxError(
                f"expected a judge for {self._brief.problem.path} to start, but it died ({error}); "
                "its standard error says more; check the problem folder and this machine's memory"
            ) from error

    def is_there(self) -> bool:
        """Always: one that has died is replaced when it is asked."""
        return True

    def evaluate(self, code: str, split: str, part: tuple[int, int] | None) -> Evaluation | int:
        """The verdict on one candidate, or the number of instances if the split has to be asked for in parts.

        A judge that dies under a candidate is replaced and asked once more; the second death is the verdict.

        Raises:
            JudgeDiedError: If the pool was closed meanwhile.
            SandboxError: If no sandbox can be started any more.
            ContentError: If the problem fails to make the split's instances.
        """
        for _ in range(_ATTEMPTS):
            try:
                if self._channel is None:
                    self.start()
                request = {"op": "evaluate", "split": split, "part": part}
                return read_reply(self._exchange(request, code.encode(errors="surrogatepass")))
            except JudgeDiedError as error:
                reason = str(error)
                self._discard()
                if self._is_closed:
                    raise
        return Evaluation("crash", printable_line(f"the judge died {_ATTEMPTS} times under this candidate: {reason}"))

    def terminate(self) -> None:
        """Ask the judge to end its sandbox and itself at once; for good. Does not wait."""
        with self._lock:
            self._is_closed = True
            if self._process is not None:
                self._process.terminate()

    def join(self) -> None:
        """Wait until the process has ended; kill it if it takes too long, being busy with an objective."""
        process = self._process
        if process is not None:
            _end(process)

    def close(self) -> None:
        """Terminate and reap; only once no thread is inside `evaluate` any more, because it closes the pipes."""
        self.terminate()
        self._discard()

    def _exchange(self, header: dict[str, Any], *payload: bytes | memoryview) -> dict[str, Any]:
        assert self._channel is not None
        try:
            self._channel.send(header, *payload)
            reply, _ = self._channel.receive()
            while "notice" in reply:
                logger.info("%s", reply["notice"])
                reply, _ = self._channel.receive()
        except (ChannelClosedError, OSError) as error:
            raise JudgeDiedError(f"the judge ended ({error})") from None
        if "error" in reply:
            raise {"sandbox": SandboxError, "content": ContentError}[reply["error"]](reply["message"])
        return reply

    def _discard(self) -> None:
        """End and reap whatever process there is."""
        with self._lock:
            process, self._process, self._channel = self._process, None, None
        if process is None:
            return
        process.terminate()
        _end(process)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def read_reply(reply: Mapping[str, Any]) -> Evaluation | int:
    """What a judge answered: a verdict, or the number of instances of a split."""
    if "count" in reply:
        return int(reply["count"])
    fields = dict(reply["evaluation"])
    return Evaluation(**fields | {"objectives": tuple(fields["objectives"])})


def _spawn(numba_cache: Path | None) -> subprocess.Popen[bytes]:
    """A judge in a session of its own, so that a terminal's Ctrl-C does not reach it."""
    environ = child_environ() if numba_cache is None else child_environ(NUMBA_CACHE_DIR=str(numba_cache))
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "coevo.evaluation.judge"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environ,
        start_new_session=True,
        bufsize=0,
    )
