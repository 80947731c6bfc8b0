"""Watch over one candidate: collect what it writes, measure it, end it, reap it."""

import os
import select
import signal
import time
from dataclasses import dataclass, field
from typing import Literal

from coevo.sandbox.confine import Limits

Stop = Literal["cpu", "wall", "size", "owner"]
"""Why a candidate was killed: a limit, or nobody waits for the answer any more."""

_SHORTEST_WAIT_S = 0.0005
_READ_BYTES = 1 << 18
_CPUCLOCK_SCHED = 2


@dataclass
class Outcome:
    """How a candidate's process ended.

    Attributes:
        exit_code: Exit code, or minus the signal that ended it.
        cpu_s: CPU seconds, user and system, as the kernel counted them.
        stopped: Why it was killed, or None if it ended by itself.
        output: What it wrote, at most the limit and one read.
    """

    exit_code: int = 0
    cpu_s: float = 0.0
    stopped: Stop | None = None
    output: bytearray = field(default_factory=bytearray)


def supervise(pid: int, output_fd: int, *, limits: Limits, owner_fd: int) -> Outcome:
    """Read from a forked candidate until it ends or a limit is reached, then kill and reap it.

    Args:
        pid: The candidate's process, a child of this one.
        output_fd: Read end of its result pipe; the candidate holds the only write end.
        limits: What it may use.
        owner_fd: A pipe whose hang-up means that nobody waits for the answer any more.
    """
    outcome = Outcome()
    watch = _Watch(pid, output_fd, limits, owner_fd)
    while not watch.is_over(outcome):
        watch.read_into(outcome.output)
    outcome.exit_code, outcome.cpu_s = end(pid)
    return outcome


def end(pid: int) -> tuple[int, float]:
    """Kill a child process unless it has ended, and reap it: exit code, or minus the signal, and CPU seconds."""
    os.kill(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime


class _Watch:
    """The clocks and the pipe of one candidate."""

    def __init__(self, pid: int, output_fd: int, limits: Limits, owner_fd: int):
        self._pid = pid
        self._limits = limits
        self._deadline = time.monotonic() + limits.wall_s
        # The clock that clock_getcpuclockid(3) names: another process' CPU time, to the nanosecond.
        self._cpu_clock = (~pid << 3) | _CPUCLOCK_SCHED
        self._output_fd: int | None = output_fd
        self._owner_fd = owner_fd
        self._is_owner_gone = False

    def _left(self) -> tuple[float, float]:
        cpu_s = self._limits.cpu_s - time.clock_gettime(self._cpu_clock)
        return cpu_s, self._deadline - time.monotonic()

    def is_over(self, outcome: Outcome) -> bool:
        """Whether there is nothing left to wait for; notes in the outcome why, if a limit is the reason."""
        # A closed pipe usually means that the process has ended, but it may also live on with the pipe closed.
        if self._output_fd is None and os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return True
        cpu_s, wall_s = self._left()
        if self._is_owner_gone:
            outcome.stopped = "owner"
        elif len(outcome.output) > self._limits.max_result_bytes:
            outcome.stopped = "size"
        elif cpu_s <= 0:
            outcome.stopped = "cpu"
        elif wall_s <= 0:
            outcome.stopped = "wall"
        return outcome.stopped is not None

    def read_into(self, output: bytearray) -> None:
        """Wait for output, but no longer than until a limit could be reached."""
        poll = select.poll()
        poll.register(self._owner_fd, 0)
        # One thread uses CPU no faster than the clock runs, so the smaller of the two is safe to sleep.
        wait_s = max(min(self._left()), _SHORTEST_WAIT_S)
        if self._output_fd is None:
            wait_s = _SHORTEST_WAIT_S
        else:
            poll.register(self._output_fd, select.POLLIN)
        events = dict(poll.poll(wait_s * 1000))
        self._is_owner_gone = self._owner_fd in events
        if self._output_fd in events:
            data = os.read(self._output_fd, _READ_BYTES)
            output += data
            if not data:
                self._output_fd = None
