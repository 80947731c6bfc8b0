"""The filter, run on an interpreter of classic BPF, so that both machines are tested on either."""

import os
import struct

import pytest

from coevo.errors import SandboxError
from coevo.sandbox.seccomp import build_filter

ALLOW, KILL, EPERM, ENOSYS = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

X86 = {
    "socket": 41, "clone": 56, "fork": 57, "vfork": 58, "execve": 59, "kill": 62, "creat": 85, "unlink": 87,
    "chmod": 90, "ptrace": 101, "prctl": 157, "setrlimit": 160, "mount": 165, "tkill": 200, "mq_open": 240,
    "tgkill": 234, "unshare": 272, "keyctl": 250, "shmget": 29, "setpriority": 141, "sched_setaffinity": 203,
    "process_vm_readv": 310, "process_vm_writev": 311, "memfd_create": 319, "bpf": 321, "execveat": 322,
    "userfaultfd": 323, "perf_event_open": 298, "setns": 308, "io_uring_setup": 425, "pidfd_send_signal": 424,
    "openat2": 437, "setsid": 112, "chroot": 161, "mkdirat": 258, "setxattr": 188, "utimensat": 280, "seccomp": 317,
}  # fmt: skip
ARM = {
    "socket": 198, "clone": 220, "execve": 221, "kill": 129, "tkill": 130, "tgkill": 131, "unlinkat": 35,
    "mkdirat": 34, "fchmodat": 53, "ptrace": 117, "prctl": 167, "setrlimit": 164, "mount": 40, "unshare": 97,
    "keyctl": 219, "shmget": 194, "setpriority": 140, "sched_setaffinity": 122, "process_vm_writev": 271,
    "memfd_create": 279, "bpf": 280, "execveat": 281, "userfaultfd": 282, "perf_event_open": 241, "setns": 268,
    "io_uring_setup": 425, "openat2": 437, "setsid": 157, "chroot": 51, "seccomp": 277,
}  # fmt: skip


def decide(program: bytes, number: int, arguments: tuple[int, ...] = (), audit: int = AUDIT["x86_64"]) -> int:
    """The verdict of a filter on one call."""
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number & 0xFFFFFFFF, audit, 0, *padded)
    instructions = list(struct.iter_unpack("<HBBI", program))
    at = accumulator = 0
    while True:
        code, if_true, if_false, constant = instructions[at]
        at += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, constant)
        elif code == 0x06:
            return int(constant)
        else:
            holds = accumulator == constant if code == 0x15 else bool(accumulator & constant)
            at += if_true if holds else if_false


@pytest.mark.parametrize(("machine", "call"), [("x86_64", call) for call in X86] + [("aarch64", call) for call in ARM])
def test_dangerous_calls_fail(machine: str, call: str) -> None:
    """Calls that reach beyond the process or change a file are refused with EPERM, on either machine."""
    number = (X86 if machine == "x86_64" else ARM)[call]
    assert decide(build_filter(machine), number, audit=AUDIT[machine]) == EPERM


@pytest.mark.parametrize(("machine", "openat"), [("x86_64", 257), ("aarch64", 56)])
def test_files_open_for_reading_only(machine: str, openat: int) -> None:
    """Reading, folders and close-on-exec pass; any flag that writes, creates or empties a file fails."""
    program, audit = build_filter(machine), AUDIT[machine]
    for flags in (os.O_RDONLY, os.O_RDONLY | os.O_CLOEXEC, os.O_RDONLY | os.O_DIRECTORY):
        assert decide(program, openat, (0, 0, flags), audit) == ALLOW
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_CREAT, os.O_TRUNC, os.O_TMPFILE | os.O_RDWR):
        assert decide(program, openat, (0, 0, flags), audit) == EPERM


def test_arguments_decide_where_a_call_has_a_harmless_use() -> None:
    """Fcntl without owners and signals, ioctl for terminals' questions, prlimit without a new limit."""
    program = build_filter("x86_64")
    assert decide(program, 72, (3, 1)) == ALLOW  # F_GETFD
    assert decide(program, 72, (3, 8)) == EPERM  # F_SETOWN
    assert decide(program, 72, (3, 4)) == EPERM  # F_SETFL
    assert decide(program, 16, (1, 0x5401)) == ALLOW  # TCGETS
    assert decide(program, 16, (1, 0x5412)) == EPERM  # TIOCSTI
    assert decide(program, 302, (0, 7, 0, 1)) == ALLOW
    assert decide(program, 302, (0, 7, 1, 0)) == EPERM
    assert decide(program, 302, (0, 7, 1 << 32, 0)) == EPERM
    assert decide(program, 2, (0, os.O_RDONLY)) == ALLOW
    assert decide(program, 2, (0, os.O_WRONLY)) == EPERM


def test_other_tables_of_numbers_do_not_slip_through() -> None:
    """Calls of another machine kill the process; x32 numbers, unknown ones and clone3 fail."""
    program = build_filter("x86_64")
    assert decide(program, 0) == ALLOW
    assert decide(program, 0, audit=0x40000003) == KILL
    assert decide(program, 0x40000000) == EPERM
    assert decide(program, 9999) == EPERM
    assert decide(program, 435) == ENOSYS


def test_an_unknown_machine_is_refused() -> None:
    """Where system calls are not known there is no filter, and the error says what to do."""
    with pytest.raises(SandboxError, match=r"found riscv64.*--unsafe-no-sandbox"):
        build_filter("riscv64")
