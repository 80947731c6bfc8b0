"""Process 1 of a shell's sandbox: runs one command at a time under limits and leaves nothing of it behind.

Runs by itself, from this one file, with the standard library alone: it starts in every episode anew. Requests and
answers are lines of JSON on standard input and output; the end of the input ends the sandbox.

Being process 1 it cannot be killed from inside, it inherits every orphan, and `kill(-1)` reaches all that a command has
started, also what is just being forked. Limits are watched from here because the kernel's own are not enough:
RLIMIT_NPROC does not bind root, and RLIMIT_AS binds each process by itself.
"""

# pathlib would double the time that every episode waits for this to start.
# ruff: noqa: PTH116, PTH123, PTH208

import codecs
import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import sys
import time
from typing import Any

_WATCH_S = 0.05
_READ_BYTES = 1 << 16
_OPEN_FILES = 1024
_PR_SET_DUMPABLE = 4
_WRITABLE = ("/workspace", "/tmp", "/dev/shm")
_TASK_FOLDER_LINKS = 2
"""Links of /proc/<pid>/task beyond one for each thread."""


class Printed:
    """What a command has printed: its beginning and its end as text, and how long it was.

    Args:
        limit: Characters kept of either.
    """

    def __init__(self, limit: int):
        self._limit = limit
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.head = self.tail = ""
        self.characters = self.bytes = 0

    def add(self, data: bytes, *, is_last: bool = False) -> None:
        """Take the next bytes; what is no UTF-8, and NUL, becomes the replacement character."""
        text = self._decoder.decode(data, is_last).replace("\0", "\ufffd")
        self.bytes += len(data)
        self.characters += len(text)
        self.head += text[: self._limit - len(self.head)]
        self.tail = (self.tail + text[-self._limit :])[-self._limit :]


class Command:
    """One command from its start to the end of all its processes.

    Args:
        text: What bash is to run.
        limits: The fields of `ShellLimits`.
        wake_fd: Becomes readable when a child has ended.
    """

    def __init__(self, text: str, limits: dict[str, Any], wake_fd: int):
        self._limits = limits
        self._wake_fd = wake_fd
        self._files_before = _files()
        self._deadline = time.monotonic() + limits["wall_s"]
        self._next_look = 0.0
        self._exit_code: int | None = None
        self.printed = Printed(limits["output_characters"])
        read_fd, write_fd = os.pipe()
        self._output_fd: int | None = read_fd
        self._pid = os.fork()
        if self._pid == 0:
            _become_bash(text, write_fd, limits)
        os.close(write_fd)

    def run(self) -> dict[str, Any]:
        """Wait for it, end all that it has started; the answer to the request."""
        stopped = ""
        while self._exit_code is None and not stopped:
            self._wait()
            self._reap()
            stopped = self._exceeded() if self._exit_code is None else ""
        _kill_all()
        self._drain()
        printed = self.printed
        return {
            "exit_code": None if stopped else self._exit_code,
            "stopped": stopped,
            "head": printed.head,
            "tail": printed.tail,
            "characters": printed.characters,
        }

    def _wait(self) -> None:
        poll = select.poll()
        # Hang-up of the requests alone: nobody waits for the answer any more.
        poll.register(0, 0)
        poll.register(self._wake_fd, select.POLLIN)
        if self._output_fd is not None:
            poll.register(self._output_fd, select.POLLIN)
        ready = dict(poll.poll(1000 * max(min(_WATCH_S, self._deadline - time.monotonic()), 0)))
        if 0 in ready:
            os._exit(0)
        if self._wake_fd in ready:
            os.read(self._wake_fd, _READ_BYTES)
        if self._output_fd in ready:
            self._read()

    def _read(self) -> bool:
        """Take what is there of the output, once; whether there was any."""
        assert self._output_fd is not None
        data = os.read(self._output_fd, _READ_BYTES)
        if data:
            self.printed.add(data)
        else:
            os.close(self._output_fd)
            self._output_fd = None
        return bool(data)

    def _reap(self) -> None:
        """Collect children that have ended, orphans included."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._pid:
                self._exit_code = os.waitstatus_to_exitcode(status)

    def _exceeded(self) -> str:
        """The limit that is exceeded, or nothing."""
        now = time.monotonic()
        if now >= self._deadline:
            return "time"
        if self.printed.bytes > self._limits["output_bytes"]:
            return "output"
        if now < self._next_look:
            return ""
        self._next_look = now + _WATCH_S
        if _threads() > self._limits["processes"]:
            return "processes"
        if _files() > max(self._limits["files"], self._files_before):
            return "files"
        return "memory" if _is_memory_above(self._limits["memory_bytes"]) else ""

    def _drain(self) -> None:
        """Read what is left in the pipe; all its writers are gone, so it ends."""
        while self._output_fd is not None and self._read():
            pass
        self.printed.add(b"", is_last=True)


def _become_bash(text: str, output_fd: int, limits: dict[str, Any]) -> None:
    try:
        os.setsid()
        null = os.open("/dev/null", os.O_RDONLY)
        for at, fd in enumerate((null, output_fd, output_fd)):
            os.dup2(fd, at)
        os.closerange(3, _OPEN_FILES)
        for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        _limit(limits)
        os.chdir("/workspace")
        os.execv("/bin/bash", [b"bash", b"-c", text.encode(errors="replace")])
    except BaseException as error:
        os.write(2, f"bash could not be started: {error}\n".encode())
    finally:
        os._exit(126)


def _limit(limits: dict[str, Any]) -> None:
    kinds = [
        (resource.RLIMIT_AS, limits["memory_bytes"]),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ]
    if limits["bounds_user"]:
        kinds.append((resource.RLIMIT_NPROC, limits["processes"]))
    for kind, value in kinds:
        _, hard = resource.getrlimit(kind)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def _kill_all() -> None:
    """End and reap every process of the sandbox but this one."""
    while True:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _processes() -> list[str]:
    return [f"/proc/{name}" for name in os.listdir("/proc") if name.isdigit() and name != "1"]


def _threads() -> int:
    total = 0
    for folder in _processes():
        try:
            total += os.stat(f"{folder}/task").st_nlink - _TASK_FOLDER_LINKS
        except OSError:
            continue
    return total


def _files() -> int:
    """Files and folders in what can be written to."""
    found = [os.statvfs(path) for path in _WRITABLE]
    return sum(one.f_files - one.f_ffree for one in found)


def _is_memory_above(limit: int) -> bool:
    """Whether all processes together hold more than this many bytes.

    Resident sizes count a page once for each process that shares it. They are cheap, so they are asked first; the
    proportional sizes, which need a walk through the page tables, decide.
    """
    folders = _processes()
    if sum(map(_resident, folders)) <= limit:
        return False
    return sum(map(_proportional, folders)) > limit


def _resident(folder: str) -> int:
    try:
        with open(f"{folder}/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0


def _proportional(folder: str) -> int:
    try:
        with open(f"{folder}/smaps_rollup") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))
    except (OSError, StopIteration):
        # A process that cannot be looked into is counted in full.
        return _resident(folder)


def _protect() -> int:
    """Make this process deaf and unreadable to commands; a descriptor that wakes up when a child has ended."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl refused")
    read_fd, write_fd = os.pipe()
    for fd in (read_fd, write_fd):
        os.set_blocking(fd, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(write_fd, warn_on_full_buffer=False)
    return read_fd


def main() -> None:
    """Answer requests until their pipe is closed."""
    wake_fd = _protect()
    limits = json.loads(sys.argv[1])
    answer: dict[str, Any] = {"ready": True}
    while True:
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
        # Strictly one after another: no request comes before the answer to the last one.
        line = sys.stdin.readline()
        if not line:
            return
        answer = Command(json.loads(line)["command"], limits, wake_fd).run()


if __name__ == "__main__":
    main()
