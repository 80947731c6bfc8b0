"""How much memory a run has needed: this process and those that it has started."""

import os
from pathlib import Path

_PEAK, _PARENT = "VmHWM:", "PPid:"


def peak_memory_mb() -> float:
    """Sum of the peak resident memory of this process and of its living descendants, in units of 10⁶ bytes.

    Peaks need not fall together and pages may be shared, so the sum is an upper bound. Processes that have ended are
    not in it: ask while the engine is open.
    """
    found = {int(path.parent.name): _status(path) for path in Path("/proc").glob("[0-9]*/status")}
    family = {os.getpid()}
    while grown := {pid for pid, values in found.items() if values.get(_PARENT) in family} - family:
        family |= grown
    return 1024e-6 * sum(found.get(pid, {}).get(_PEAK, 0) for pid in family)


def _status(path: Path) -> dict[str, int]:
    """The parent and the peak in KiB of a process; nothing of one that has just ended."""
    try:
        lines = [line.split() for line in path.read_text().splitlines()]
    except OSError:
        return {}
    return {words[0]: int(words[1]) for words in lines if words and words[0] in (_PEAK, _PARENT)}
