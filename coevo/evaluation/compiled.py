"""Whether a problem's Numba code is in the cache already, so that a user is told before the first use compiles it."""

import hashlib
from pathlib import Path


class CompiledMark:
    """A file in the folder for the kernels of one state of a problem's code, one for each kind of processor.

    Args:
        cache: The folder; created if need be.
    """

    def __init__(self, cache: Path):
        from llvmlite.binding import get_host_cpu_name  # as heavy as Numba, which is loaded already

        cache.mkdir(parents=True, exist_ok=True)
        self._file = cache / f"{hashlib.sha256(get_host_cpu_name().encode()).hexdigest()[:16]}.compiled"

    def is_set(self) -> bool:
        """Whether a warm-up with this code has been through."""
        return self._file.exists()

    def set(self) -> None:
        """Say that one has."""
        self._file.touch()
