from collections.abc import Iterator
from pathlib import Path

import pytest

from coevo.environments.tools.shell import Shell, ShellLimits, find_bwrap
from coevo.errors import SandboxError

SMALL = ShellLimits(
    wall_s=20.0,
    memory_bytes=400 << 20,
    output_bytes=20_000_000,
    processes=40,
    disk_bytes=16 << 20,
    files=2_000,
)


@pytest.fixture(scope="session", autouse=True)
def _bubblewrap() -> None:
    """Nothing here is tried where bubblewrap cannot run."""
    try:
        find_bwrap()
    except SandboxError as error:
        pytest.skip(f"bubblewrap: {error}")


@pytest.fixture(scope="session")
def small() -> ShellLimits:
    """Limits that are soon reached, with time enough for a busy machine."""
    return SMALL


@pytest.fixture(scope="module")
def shell() -> Iterator[Shell]:
    """A shell for tests that leave it usable."""
    shell = Shell(SMALL)
    yield shell
    shell.close()


def _parents() -> dict[int, int]:
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                found[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    return found


@pytest.fixture(scope="session")
def below():  # type: ignore[no-untyped-def]
    """Lists the processes below one, from nearest to furthest."""

    def list_below(root: int) -> list[int]:
        parents = _parents()
        found = [root]
        for pid in found:
            found += [child for child, parent in parents.items() if parent == pid]
        return found[1:]

    return list_below
