"""What a run is doing, told from its events and from when its files last changed."""

import json
from dataclasses import asdict, dataclass
from typing import Literal

from coevo.errors import CoevoError
from coevo.records.run_directory import RunDirectory
from coevo.reporting.live.tail import signature_of
from coevo.reporting.live.tally import Progress
from coevo.reporting.run_page import STATUSES as SEARCH_STATUSES
from coevo.reporting.tune_page import STATUSES as TUNE_STATUSES

Name = Literal["running", "finished", "interrupted", "silent", "unreadable", "reading", "grid"]

QUIET_S = 300.0
"""After so many seconds without an event a run is called silent; whether it was killed, its files do not say."""

_ENDS = {"search": SEARCH_STATUSES, "tune": TUNE_STATUSES}


@dataclass(frozen=True, slots=True)
class RunState:
    """A run as the list shows it.

    Attributes:
        version: Differs whenever the run's page does.
        words: The state in words; why it cannot be read, where that is so.
        changed: Seconds since the epoch of its last event; None where there is none.
    """

    slug: str
    name: str
    version: str
    state: Name
    words: str
    changed: float | None
    progress: Progress | None

    def as_json(self) -> str:
        """The state as a JSON object."""
        return json.dumps(asdict(self), allow_nan=False)


def told_state(directory: RunDirectory, status: str, kind: str, now: float) -> tuple[Name, str]:
    """The state of a run that can be read, and its words.

    Args:
        directory: The run.
        status: That of its last event; empty for a run that has not come to its end.
        kind: "tune" or another.
        now: Seconds since the epoch.
    """
    if status:
        return "finished", _ENDS.get(kind, {}).get(status, "finished" if status == "done" else f"finished: {status}")
    changed = changed_at(directory)
    if _is_interrupted(directory):
        return "interrupted", SEARCH_STATUSES["interrupted"]
    if changed is None or now - changed < QUIET_S:
        return "running", "running"
    return "silent", f"no event for more than {QUIET_S / 60:.0f} min: a long step, or it was killed"


def changed_at(directory: RunDirectory) -> float | None:
    """When the log, or before it the configuration, was last written, in seconds since the epoch."""
    found = signature_of(directory.events) or signature_of(directory.path / "config.toml")
    return found[2] / 1e9 if found else None


def _is_interrupted(directory: RunDirectory) -> bool:
    """Whether the run was stopped on purpose and has not gone on since."""
    log, result = signature_of(directory.events), signature_of(directory.path / "result.json")
    if result is None or (log is not None and log[2] > result[2]):
        return False
    try:
        return (directory.result() or {}).get("status") == "interrupted"
    except CoevoError:
        return False
