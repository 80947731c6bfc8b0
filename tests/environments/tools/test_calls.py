"""The list of system calls that fail."""

import struct

import pytest

from coevo.environments.tools.calls import build_filter
from coevo.errors import SandboxError


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_a_program_is_well_formed(machine: str) -> None:
    """Whole instructions, jumps that stay inside, a verdict at the end."""
    program = [struct.unpack_from("<HBBI", build_filter(machine), at) for at in range(0, len(build_filter(machine)), 8)]
    for at, (code, if_true, if_false, _) in enumerate(program):
        if code & 7 == 5:
            assert at + 1 + max(if_true, if_false) < len(program)
    assert program[-1] == (0x06, 0, 0, 0x7FFF0000)


def _run(program: bytes, audit: int, number: int, *arguments: int) -> int:
    """What a program says of a call: a plain interpreter of the instructions that are used."""
    data = struct.pack("<IIQ6Q", number, audit, 0, *arguments, *[0] * (6 - len(arguments)))
    at, value = 0, 0
    while True:
        code, if_true, if_false, constant = struct.unpack_from("<HBBI", program, 8 * at)
        if code == 0x20:
            value = struct.unpack_from("<I", data, constant)[0]
            at += 1
        elif code == 0x06:
            return int(constant)
        else:
            holds = {0x15: value == constant, 0x35: value >= constant, 0x45: bool(value & constant)}[code]
            at += 1 + (if_true if holds else if_false)


ALLOWED, DENIED, ABSENT, KILLED = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000


@pytest.mark.parametrize(
    ("call", "verdict"),
    [
        ((0,), ALLOWED),  # read
        ((57,), ALLOWED),  # fork
        ((101,), DENIED),  # ptrace
        ((435,), ABSENT),  # clone3
        ((56, 0x11), ALLOWED),  # clone, as of fork
        ((56, 0x10000011), DENIED),  # clone into a new user namespace
        ((302, 0), ALLOWED),  # prlimit64 of oneself
        ((302, 1), DENIED),
        ((141, 0, 0), ALLOWED),  # setpriority of oneself
        ((141, 0, 1), DENIED),
        ((41, 2), ALLOWED),  # socket, internet
        ((41, 40), DENIED),  # socket, vsock
        ((0x40000000,), DENIED),  # read by its x32 number
    ],
)
def test_verdicts(call: tuple[int, ...], verdict: int) -> None:
    """Ordinary calls pass, those on the list fail, and those that depend on arguments do."""
    assert _run(build_filter("x86_64"), 0xC000003E, *call) == verdict


def test_another_architecture_is_killed() -> None:
    """32-bit calls have other numbers for the same doors."""
    assert _run(build_filter("x86_64"), 0x40000003, 0) == KILLED


def test_an_unknown_machine_is_refused() -> None:
    """There is no shell where the calls are not known."""
    with pytest.raises(SandboxError, match="sparc64"):
        build_filter("sparc64")
