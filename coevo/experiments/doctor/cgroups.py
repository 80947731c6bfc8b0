"""The bounds that a container or service puts on its processes, of both versions of Linux' control groups."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_UNBOUNDED = 1 << 60
"""Version 1 writes a number about this large where there is no bound."""


@dataclass(frozen=True, slots=True)
class ControlGroups:
    """Where the kernel tells.

    Attributes:
        mount: Where control groups are mounted.
        own: The file that names those of this process.
    """

    mount: Path = Path("/sys/fs/cgroup")
    own: Path = Path("/proc/self/cgroup")

    def cores(self) -> float | None:
        """Processor cores that may be used on average; None without a bound."""
        bounds = []
        for folder in self._folders("cpu"):
            if (both := _words(folder / "cpu.max")) and both[0] != "max":
                bounds.append(int(both[0]) / int(both[1]))
            quota, period = _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
            if quota is not None and period and quota > 0:
                bounds.append(quota / period)
        return min(bounds, default=None)

    def free_bytes(self) -> int | None:
        """Memory that may still be taken; None without a bound. Caches that would give way count as free."""
        left = []
        for folder in self._folders("memory"):
            for most, used in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
                bound, taken = _number(folder / most), _number(folder / used)
                if bound is not None and taken is not None and bound < _UNBOUNDED:
                    left.append(max(0, bound - taken + _reclaimable(folder / "memory.stat")))
        return min(left, default=None)

    def _folders(self, controller: str) -> Iterator[Path]:
        """The groups that this process is in, from its own to the outermost."""
        try:
            lines = self.own.read_text().splitlines()
        except OSError:
            return
        for line in lines:
            _, controllers, path = line.split(":", 2)
            if controllers and controller not in controllers.split(","):
                continue
            root = self.mount / controllers if controllers else self.mount
            inner = root / path.lstrip("/")
            for folder in (inner, *inner.parents):
                if folder.is_relative_to(root):
                    yield folder


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []


def _number(file: Path) -> int | None:
    words = _words(file)
    return int(words[0]) if words and words[0].lstrip("-").isdigit() else None


def _reclaimable(file: Path) -> int:
    words = _words(file)
    pairs = dict(zip(words[::2], words[1::2], strict=False))
    return int(pairs.get("total_inactive_file", pairs.get("inactive_file", "0")))
