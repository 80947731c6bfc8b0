"""The system calls that fail for commands, as a seccomp program (classic BPF) for bubblewrap.

Commands may start processes and write files, so this is a deny-list, unlike the one of `coevo.sandbox.seccomp`. It has
what leads out of the sandbox or around its limits: namespaces and mounts, other processes' memory and limits, memory
that outlives its process, sockets that no network namespace holds, and doors of the kernel that no command needs.
"""

import platform
import struct

from coevo.errors import SandboxError

_LOAD, _EQUAL, _AT_LEAST, _MASKED, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _ENOSYS = 1, 38
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16

_X32 = 0x40000000
"""Numbers from here on are the x32 interface: the same calls by other numbers."""
_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET."""
_FAMILIES = (1, 2, 10)
"""AF_UNIX, AF_INET, AF_INET6; vsock and netlink, among others, reach past a network namespace."""

_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_SAME = (425, 426, 427, 428, 429, 430, 431, 432, 433, 438, 440, 442, 447)
"""The same on both machines: io_uring_*, open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, pidfd_getfd,
process_madvise, mount_setattr, memfd_secret."""
_CLONE3 = 435

_DENIED = {
    "x86_64": {
        "shmget": 29, "semget": 64, "msgget": 68, "ptrace": 101, "syslog": 103, "pivot_root": 155, "chroot": 161,
        "acct": 163, "mount": 165, "umount2": 166, "swapon": 167, "reboot": 169, "init_module": 175,
        "delete_module": 176, "quotactl": 179, "mq_open": 240, "kexec_load": 246, "add_key": 248, "request_key": 249,
        "keyctl": 250, "migrate_pages": 256, "unshare": 272, "move_pages": 279, "perf_event_open": 298,
        "name_to_handle_at": 303, "open_by_handle_at": 304, "setns": 308, "process_vm_readv": 310,
        "process_vm_writev": 311, "kcmp": 312, "finit_module": 313, "memfd_create": 319, "kexec_file_load": 320,
        "bpf": 321, "userfaultfd": 323,
    },
    "aarch64": {
        "umount2": 39, "mount": 40, "pivot_root": 41, "chroot": 51, "quotactl": 60, "acct": 89, "unshare": 97,
        "kexec_load": 104, "init_module": 105, "delete_module": 106, "syslog": 116, "ptrace": 117, "reboot": 142,
        "mq_open": 180, "msgget": 186, "semget": 190, "shmget": 194, "add_key": 217, "request_key": 218,
        "keyctl": 219, "swapon": 224, "migrate_pages": 238, "move_pages": 239, "perf_event_open": 241,
        "name_to_handle_at": 264, "open_by_handle_at": 265, "setns": 268, "process_vm_readv": 270,
        "process_vm_writev": 271, "kcmp": 272, "finit_module": 273, "memfd_create": 279, "bpf": 280,
        "userfaultfd": 282, "kexec_file_load": 294,
    },
}  # fmt: skip
"""Calls that fail whatever their arguments, by machine."""

_OWN_ONLY = {
    # Call: (number, which argument names the process); 0 is the caller itself.
    "x86_64": {
        "setpriority": (141, 1), "sched_setparam": (142, 0), "sched_setscheduler": (144, 0),
        "sched_setaffinity": (203, 0), "ioprio_set": (251, 1), "prlimit64": (302, 0), "sched_setattr": (314, 0),
    },
    "aarch64": {
        "ioprio_set": (30, 1), "sched_setparam": (118, 0), "sched_setscheduler": (119, 0),
        "sched_setaffinity": (122, 0), "setpriority": (140, 1), "prlimit64": (261, 0), "sched_setattr": (274, 0),
    },
}  # fmt: skip
"""Calls that would change the supervisor, which has the same user: allowed on the caller alone."""

_CLONE = {"x86_64": 56, "aarch64": 220}
_SOCKET = {"x86_64": 41, "aarch64": 198}


def build_filter(machine: str | None = None) -> bytes:
    """The program for a machine (default: this one), an array of `struct sock_filter`.

    Raises:
        SandboxError: If the machine's system calls are not known here.
    """
    machine = machine or platform.machine()
    if machine not in _AUDIT:
        raise SandboxError(
            f"expected a machine of {', '.join(_AUDIT)} for the agents' shell, found {machine}: its system calls are "
            "not known; use an environment without a shell"
        )
    program = [_instruction(_LOAD, _ARCHITECTURE_AT), _instruction(_EQUAL, _AUDIT[machine], 1, 0), _end(_KILL)]
    program.append(_instruction(_LOAD, _NUMBER_AT))
    if machine == "x86_64":
        program += [_instruction(_AT_LEAST, _X32, 0, 1), _DENY]
    for number in (*_SAME, *sorted(_DENIED[machine].values())):
        program += _branch(number, [_DENY])
    # Its flags lie in memory and cannot be looked at; the C library falls back to clone.
    program += _branch(_CLONE3, [_end(_ERRNO | _ENOSYS)])
    program += _branch(_CLONE[machine], [_argument(0), _instruction(_MASKED, _NAMESPACES, 1, 0), _end(_ALLOW), _DENY])
    for number, index in _OWN_ONLY[machine].values():
        program += _branch(number, [_argument(index), _instruction(_EQUAL, 0, 1, 0), _DENY, _end(_ALLOW)])
    families = [part for family in _FAMILIES for part in (_instruction(_EQUAL, family, 0, 1), _end(_ALLOW))]
    program += _branch(_SOCKET[machine], [_argument(0), *families, _DENY])
    return b"".join([*program, _end(_ALLOW)])


def _instruction(code: int, constant: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, constant)


def _end(verdict: int) -> bytes:
    return _instruction(_RETURN, verdict)


_DENY = _end(_ERRNO | _EPERM)


def _branch(number: int, body: list[bytes]) -> list[bytes]:
    """Run `body`, which ends in a verdict, for this call alone; otherwise go on with the number still loaded."""
    return [_instruction(_EQUAL, number, 0, len(body)), *body]


def _argument(index: int) -> bytes:
    """Load the lower half of an argument; the kernel reads no more of the ones looked at here."""
    return _instruction(_LOAD, _ARGUMENTS_AT + 8 * index)
