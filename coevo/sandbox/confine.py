"""What a freshly forked candidate process does to itself before a line of untrusted code runs."""

import ctypes
import math
import mmap
import os
import resource
import signal
from dataclasses import dataclass

from coevo.sandbox import seccomp

SOURCE_FD, RESULT_FD = 0, 3
"""The pipe ends a candidate's process keeps, besides /dev/null on 1 and 2: its source to read, its result to write."""

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
_MAX_OPEN_FILES = 64
_ABOVE = 100


@dataclass(frozen=True, slots=True)
class Limits:
    """What one candidate may use.

    Attributes:
        cpu_s: CPU seconds over all instances together.
        wall_s: Seconds on the clock, a guard against sleeping.
        memory_bytes: Address space beyond what the warm server already has.
        max_result_bytes: Most it may write as its result.
    """

    cpu_s: float
    wall_s: float
    memory_bytes: int
    max_result_bytes: int


def confine(pipes: tuple[int, int], *, limits: Limits, base_bytes: int, program: bytes | None) -> None:
    """Shed every descriptor and privilege of the calling process; there is no way back.

    Args:
        pipes: Read end of the source pipe and write end of the result pipe; become `SOURCE_FD` and `RESULT_FD`.
        limits: CPU is a backstop here, in whole seconds: the supervisor measures finer and kills first.
        base_bytes: Address space of the warm server.
        program: Seccomp filter, or None where there is none (unsafe mode on an unknown machine).

    Raises:
        OSError: If the kernel refuses any of it; the caller must then not go on.
    """
    _keep_only(*pipes)
    ceiling = math.ceil(limits.cpu_s) + 1
    for kind, value in (
        (resource.RLIMIT_CPU, ceiling),
        (resource.RLIMIT_AS, base_bytes + limits.memory_bytes),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, _MAX_OPEN_FILES),
    ):
        resource.setrlimit(kind, (value, value))
    make_unreadable()
    die_with_parent()
    if program is not None:
        seccomp.install(program)


def _keep_only(source_fd: int, result_fd: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    # Above the range that is overwritten, so that no dup2 can hit a source that is still needed.
    high = {at: os.dup2(fd, _ABOVE + at, inheritable=False) for at, fd in enumerate((source_fd, null, null, result_fd))}
    for at, fd in high.items():
        os.dup2(fd, at)
    os.closerange(len(high), resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def make_unreadable() -> None:
    """Forbid other processes of the same user to read or trace this one."""
    _prctl(_PR_SET_DUMPABLE, 0)


def die_with_parent(number: int = signal.SIGKILL) -> None:
    """Have the kernel send this process a signal when the thread that started it ends."""
    _prctl(_PR_SET_PDEATHSIG, number)


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}) refused")


def address_space_bytes() -> int:
    """Size of this process' address space, rounded up to a page.

    Found by bisection with RLIMIT_AS, because there is no /proc in the sandbox to ask: the limit is below the
    size exactly when mapping one more page fails.
    """
    low, high = 0, 1 << 47
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        high = min(high, hard)
    while high - low > mmap.PAGESIZE:
        middle = (low + high) // 2
        resource.setrlimit(resource.RLIMIT_AS, (middle, hard))
        try:
            mmap.mmap(-1, mmap.PAGESIZE).close()
            high = middle
        except (OSError, MemoryError):
            low = middle
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    return high
