"""The event log: append-only JSON lines, the truth of a run, and the way it resumes.

Resume does not restore a saved state: it runs the same deterministic loop again. As long as recorded events remain,
`emit` compares what the loop says now with what the log says it said then, and writes nothing; from the first new event
on it appends. So a log that is continued agrees with an uninterrupted one but for clock fields and `resumed` events,
and a loop that no longer reproduces its own past is found out at once. What cannot be repeated (completions, verdicts)
is looked up in the past by whoever needs it.
"""

import fcntl
import json
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from coevo.errors import RunError

SCHEMA_VERSION = 1
CLOCK = "clock"
RESUMED = "resumed"

Event = Mapping[str, Any]
Listener = Callable[[Event], None]


class EventLog:
    """One run's events. Holds an exclusive lock on the file while open.

    Args:
        path: The `events.jsonl`; created if missing. A torn last line (a crash in the middle of a write) is cut off.
        now: Seconds since the epoch; injected so that tests can hold the clock still.
        listeners: Called with every event, recorded ones included, in order.

    Raises:
        RunError: If another process has the log open, or a line before the last is not valid.
    """

    def __init__(self, path: Path, *, now: Callable[[], float], listeners: tuple[Listener, ...] = ()):
        self._now = now
        self._listeners = listeners
        self._file: IO[bytes] = _open_locked(path)
        past, intact = _read(path, self._file)
        self._file.truncate(intact)
        self._file.seek(intact)
        self._past = deque(event for event in past if event["kind"] != RESUMED)
        self.recorded: tuple[Event, ...] = tuple(past)
        self._resumes = bool(past)

    def emit(self, kind: str, clock: Mapping[str, float] | None = None, **facts: Any) -> None:
        """Record an event, or check it against the recorded past.

        Args:
            kind: What happened.
            clock: Fields that depend on the clock (seconds, CPU time): recorded, never compared.
            facts: JSON-serialisable fields that the loop must reproduce exactly.

        Raises:
            RunError: If the loop's event differs from the recorded one.
        """
        event = {"kind": kind, **facts}
        if self._past:
            self._tell(self._match(event))
            return
        if self._resumes:
            self._resumes = False
            self._append({"kind": RESUMED, CLOCK: {"time": self._now()}})
        self._append({**event, CLOCK: {"time": self._now(), **(clock or {})}})

    def _match(self, event: Event) -> Event:
        recorded = self._past.popleft()
        expected = {key: value for key, value in recorded.items() if key != CLOCK}
        if expected != json.loads(_line(event)):
            raise RunError(
                f"expected the run to repeat its recorded event {_short(expected)}, got {_short(event)}; "
                f"in {self._file.name}; resume with the version, problem files and model that started the run"
            )
        return recorded

    def _append(self, event: Event) -> None:
        self._file.write(_line(event))
        self._file.flush()
        self._tell(event)

    def _tell(self, event: Event) -> None:
        for listener in self._listeners:
            listener(event)

    def close(self) -> None:
        """Flush to disk and release the lock; safe to call twice."""
        if not self._file.closed:
            os.fsync(self._file.fileno())
            self._file.close()

    def __enter__(self) -> "EventLog":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def read_events(path: Path) -> Iterator[Event]:
    """The events of a log, without locking it; a torn last line is left out.

    Raises:
        RunError: If the file is missing or a line before the last is not valid.
    """
    if not path.is_file():
        raise RunError(f"expected an event log at {path}, found none; is this a run directory?")
    with path.open("rb") as file:
        events, _ = _read(path, file)
    yield from events


def _open_locked(path: Path) -> IO[bytes]:
    file = path.open("a+b")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise RunError(f"{path.parent} is in use by another coevo process; wait for it or stop it first") from None
    return file


def _read(path: Path, file: IO[bytes]) -> tuple[list[Event], int]:
    """Every whole event, and the length in bytes of that intact part."""
    file.seek(0)
    events: list[Event] = []
    intact = 0
    for number, line in enumerate(file, 1):
        if not line.endswith(b"\n"):
            break
        try:
            events.append(_event(line))
        except (ValueError, RecursionError) as error:
            raise RunError(f"{path}:{number}: expected one JSON event, got {line[:40]!r}: {error}") from error
        intact += len(line)
    return events, intact


def _event(line: bytes) -> Event:
    event = json.loads(line)
    if not isinstance(event, dict) or not isinstance(event.get("kind"), str):
        raise ValueError("not an object with a kind")
    return event


def _line(event: Event) -> bytes:
    return (json.dumps(event, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n").encode()


def _short(event: Event) -> str:
    return json.dumps(event, ensure_ascii=False)[:160]
