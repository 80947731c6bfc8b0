"""The system calls a candidate may make: a seccomp allow-list, assembled as classic BPF.

What is left is reading files, own memory, clocks, randomness and writing to descriptors it already holds. Everything
else fails with EPERM: processes, threads, exec, sockets, signals, tracing, namespaces, keys, io_uring, shared memory,
limits and priorities of other processes, and every call that changes a file or its metadata. `clone3` fails with
ENOSYS, which makes the C library fall back to `clone`. Numbers not in the table (x32, calls yet to be invented) fail.

The filter lives in the candidate's process only; bubblewrap contains the server.
"""

import ctypes
import os
import platform
import struct
from dataclasses import dataclass

from coevo.errors import SandboxError

_LOAD, _EQUAL, _MASKED, _RETURN = 0x20, 0x15, 0x45, 0x06
"""BPF_LD|BPF_W|BPF_ABS, BPF_JMP|BPF_JEQ|BPF_K, BPF_JMP|BPF_JSET|BPF_K, BPF_RET|BPF_K."""
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _ENOSYS = 1, 38
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_TCGETS = 0x5401
_HARMLESS_FCNTL = (0, 1, 2, 3, 1030)
"""F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC. Not F_SETOWN and F_SETSIG: they send signals."""

_NEW_LIMIT = 2
"""Argument of prlimit64 that changes a limit; null only reads."""

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2

_PLAIN = {
    "x86_64": {
        "read": 0, "write": 1, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "poll": 7, "lseek": 8, "mmap": 9,
        "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15,
        "pread64": 17, "readv": 19, "writev": 20, "access": 21, "select": 23, "sched_yield": 24, "mremap": 25,
        "madvise": 28, "dup": 32, "dup2": 33, "nanosleep": 35, "getpid": 39, "exit": 60, "uname": 63, "getcwd": 79,
        "readlink": 89, "gettimeofday": 96, "getrlimit": 97, "getrusage": 98, "sysinfo": 99, "times": 100,
        "getuid": 102, "getgid": 104, "geteuid": 107, "getegid": 108, "getppid": 110, "sigaltstack": 131,
        "gettid": 186, "time": 201, "futex": 202, "sched_getaffinity": 204, "getdents64": 217, "set_tid_address": 218,
        "fadvise64": 221, "clock_gettime": 228, "clock_getres": 229, "clock_nanosleep": 230, "exit_group": 231,
        "newfstatat": 262, "readlinkat": 267, "faccessat": 269, "pselect6": 270, "ppoll": 271, "set_robust_list": 273,
        "dup3": 292, "getcpu": 309, "getrandom": 318, "membarrier": 324, "statx": 332, "rseq": 334, "faccessat2": 439,
    },
    "aarch64": {
        "getcwd": 17, "dup": 23, "dup3": 24, "faccessat": 48, "close": 57, "getdents64": 61, "lseek": 62, "read": 63,
        "write": 64, "readv": 65, "writev": 66, "pread64": 67, "pselect6": 72, "ppoll": 73, "readlinkat": 78,
        "newfstatat": 79, "fstat": 80, "exit": 93, "exit_group": 94, "set_tid_address": 96, "futex": 98,
        "set_robust_list": 99, "nanosleep": 101, "clock_gettime": 113, "clock_getres": 114, "clock_nanosleep": 115,
        "sched_getaffinity": 123, "sched_yield": 124, "sigaltstack": 132, "rt_sigaction": 134, "rt_sigprocmask": 135,
        "rt_sigreturn": 139, "times": 153, "uname": 160, "getrlimit": 163, "getrusage": 165, "getcpu": 168,
        "gettimeofday": 169, "getpid": 172, "getppid": 173, "getuid": 174, "geteuid": 175, "getgid": 176,
        "getegid": 177, "gettid": 178, "sysinfo": 179, "brk": 214, "munmap": 215, "mremap": 216, "mmap": 222,
        "fadvise64": 223, "mprotect": 226, "madvise": 233, "getrandom": 278, "membarrier": 283, "statx": 291,
        "rseq": 293, "faccessat2": 439,
    },
}  # fmt: skip
"""Calls allowed whatever their arguments, by machine."""


@dataclass(frozen=True, slots=True)
class _Machine:
    """Numbers of the calls that are checked closer; `open` is -1 where there is only `openat`."""

    audit: int
    open: int
    openat: int
    fcntl: int
    ioctl: int
    prlimit64: int
    clone3: int = 435


_MACHINES = {
    "x86_64": _Machine(audit=0xC000003E, open=2, openat=257, fcntl=72, ioctl=16, prlimit64=302),
    "aarch64": _Machine(audit=0xC00000B7, open=-1, openat=56, fcntl=25, ioctl=29, prlimit64=261),
}


def build_filter(machine: str | None = None) -> bytes:
    """The filter program for a machine (default: this one), as an array of `struct sock_filter`.

    Raises:
        SandboxError: If the machine's system calls are not known here.
    """
    machine = machine or platform.machine()
    if machine not in _MACHINES:
        raise SandboxError(
            f"expected a machine of {', '.join(_MACHINES)}, found {machine}: its system calls are not known; "
            "pass --unsafe-no-sandbox to run candidates without a filter"
        )
    numbers = _MACHINES[machine]
    program = [_instruction(_LOAD, _ARCHITECTURE_AT), _instruction(_EQUAL, numbers.audit, 1, 0), _end(_KILL)]
    program.append(_instruction(_LOAD, _NUMBER_AT))
    for number in sorted(_PLAIN[machine].values()):
        program += [_instruction(_EQUAL, number, 0, 1), _end(_ALLOW)]
    for number, flags in ((numbers.open, 1), (numbers.openat, 2)):
        if number >= 0:
            program += _branch(number, [*_argument(flags), _instruction(_MASKED, _WRITING, 1, 0), _end(_ALLOW), _DENY])
    program += _branch(numbers.fcntl, _one_of(1, _HARMLESS_FCNTL))
    program += _branch(numbers.ioctl, _one_of(1, (_TCGETS,)))
    program += _branch(numbers.prlimit64, _null(_NEW_LIMIT))
    program += _branch(numbers.clone3, [_end(_ERRNO | _ENOSYS)])
    return b"".join([*program, _DENY])


def install(program: bytes) -> None:
    """Put this process (and whatever it runs) under the filter, for good.

    Raises:
        OSError: If the kernel refuses.
    """

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))

    libc = ctypes.CDLL(None, use_errno=True)
    header = Program(len(program) // 8, program)
    for arguments in (
        (_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        (_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(header), 0, 0),
    ):
        if libc.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "prctl refused the seccomp filter")


def _instruction(code: int, constant: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, constant)


def _end(verdict: int) -> bytes:
    return _instruction(_RETURN, verdict)


_DENY = _end(_ERRNO | _EPERM)


def _branch(number: int, body: list[bytes]) -> list[bytes]:
    """Run `body`, which ends in a verdict, for this call alone; otherwise go on with the number still loaded."""
    return [_instruction(_EQUAL, number, 0, len(body)), *body]


def _argument(index: int) -> list[bytes]:
    """Load the lower half of an argument: all flags and commands fit in it, and the kernel reads no more of them."""
    return [_instruction(_LOAD, _ARGUMENTS_AT + 8 * index)]


def _null(index: int) -> list[bytes]:
    """Allow the call only if the pointer argument is null in both halves."""
    at = _ARGUMENTS_AT + 8 * index
    low, high = (_instruction(_LOAD, at + half) for half in (0, 4))
    # A half that is not zero jumps to the last instruction.
    return [low, _instruction(_EQUAL, 0, 0, 3), high, _instruction(_EQUAL, 0, 0, 1), _end(_ALLOW), _DENY]


def _one_of(index: int, allowed: tuple[int, ...]) -> list[bytes]:
    checks = []
    for value in allowed:
        checks += [_instruction(_EQUAL, value, 0, 1), _end(_ALLOW)]
    return [*_argument(index), *checks, _DENY]
