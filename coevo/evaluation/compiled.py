"""Whether a problem's Numba code is in the cache already, so that a user is told before the first use compiles it."""

import hashlib
import sys
from pathlib import Path

import coevo.problemkit


class CompiledMark:
    """A file in the cache folder whose name depends on everything that makes Numba compile again.

    Args:
        cache: Numba's cache folder.
        problem: The problem's folder.
    """

    def __init__(self, cache: Path, problem: Path):
        from llvmlite.binding import get_host_cpu_name  # as heavy as Numba, which is loaded already
        from numba import __version__

        digest = hashlib.sha256(f"{__version__} {sys.version} {get_host_cpu_name()}".encode())
        for file in [*_sources(problem), *_sources(Path(coevo.problemkit.__file__).parent)]:
            status = file.stat()
            digest.update(f"{file} {status.st_mtime_ns} {status.st_size}".encode())
        self._file = cache / f"{problem.name}-{digest.hexdigest()[:16]}.compiled"

    def is_set(self) -> bool:
        """Whether a warm-up with this code has been through."""
        return self._file.exists()

    def set(self) -> None:
        """Say that one has."""
        self._file.touch()


def _sources(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.py"))
