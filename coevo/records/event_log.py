"""The event log: append-only JSON lines, the truth of a run, and the way it resumes.

Resume does not restore a saved state: it runs the same deterministic loop again. As long as recorded events remain,
`emit` compares what the loop says now with what the log says it said then, and writes nothing; from the first new event
on it appends. So a log that is continued agrees with an uninterrupted one but for clock fields and `resumed` events,
and a loop that no longer reproduces its own past is found out at once. What cannot be repeated (completions, verdicts)
is looked up in the past by whoever needs it.

Beside the story stand two kinds of events that are recorded and never compared. Notes say what no loop reproduces, such
as what a server was paid; they may come from any thread. An ending is what a run measured after it had been stopped in
the middle of its story: resumed, it goes on with the story, and readers forget the ending.
"""

import fcntl
import json
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import IO, Any, Protocol, runtime_checkable

from coevo.errors import RunError

SCHEMA_VERSION = 1
CLOCK = "clock"
RESUMED = "resumed"
ASIDE = "aside"
"""The field of an event that is no part of the story; NOTE or ENDING."""
NOTE = "note"
ENDING = "ending"

Event = Mapping[str, Any]
Listener = Callable[[Event], None]


@runtime_checkable
class Follower(Protocol):
    """A listener that is told of the log itself, too."""

    def __call__(self, event: Event) -> None:
        """Take an event."""

    def begin(self, path: Path, recorded: tuple[Event, ...]) -> None:
        """Called before the first event, with the log's file and everything recorded before."""

    def end(self) -> None:
        """Called when the log is closed; no event follows."""


class EventLog:
    """One run's events. Holds an exclusive lock on the file while open.

    Args:
        path: The `events.jsonl`; created if missing. A torn last line (a crash in the middle of a write) is cut off.
        now: Seconds since the epoch; injected so that tests can hold the clock still.
        listeners: Called with every event, recorded ones included but for `resumed` and endings, in order and by the
            thread that emits. On a resumed run the first new event is `resumed`. See also `Follower`.

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
        self._past = deque(event for event in past if event["kind"] != RESUMED and event.get(ASIDE) != ENDING)
        self.recorded: tuple[Event, ...] = tuple(past)
        self._resumes = bool(past)
        self._is_ending = False
        self._is_full = False
        self._writing = Lock()
        self._untold: deque[Event] = deque()
        for follower in self._followers:
            follower.begin(path, self.recorded)

    def emit(self, kind: str, clock: Mapping[str, float] | None = None, **facts: Any) -> None:
        """Record an event, or check it against the recorded past.

        Args:
            kind: What happened.
            clock: Fields that depend on the clock (seconds, CPU time): recorded, never compared.
            facts: JSON-serialisable fields that the loop must reproduce exactly.

        Raises:
            RunError: If the loop's event differs from the recorded one, or the disk does not take it.
        """
        event = {"kind": kind, **facts}
        with self._writing:
            self._pass_notes()
            if self._is_ending:
                self._append({**event, ASIDE: ENDING}, clock)
            elif self._past:
                self._untold.append(self._match(event))
            else:
                self._append(event, clock)
        self._tell()

    def note(self, kind: str, **facts: Any) -> None:
        """Record, beside the story, what the loop cannot reproduce; from any thread, and durable on return.

        Listeners are told with the next event. Once the log is closed nothing is recorded.

        Args:
            kind: What happened.
            facts: JSON-serialisable fields.
        """
        with self._writing:
            if not self._file.closed:
                self._append({"kind": kind, **facts, ASIDE: NOTE})

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Whatever is emitted inside is an ending: a run that is resumed goes on from where the block began."""
        self._is_ending = True
        try:
            yield
        finally:
            self._is_ending = False

    def _pass_notes(self) -> None:
        """Have the recorded notes told that come before the next recorded event of the story."""
        while self._past and self._past[0].get(ASIDE):
            self._untold.append(self._past.popleft())

    def _match(self, event: Event) -> Event:
        recorded = self._past.popleft()
        expected = {key: value for key, value in recorded.items() if key != CLOCK}
        found = json.loads(_line(event))
        if expected != found:
            raise RunError(
                f"expected the run to repeat its recorded event {_differing(expected, found)}, got "
                f"{_differing(found, expected)}; in {self._file.name}; resume with the version, configuration, problem "
                "files and model that started the run"
            )
        return recorded

    def _append(self, event: Event, clock: Mapping[str, float] | None = None) -> None:
        if self._resumes:
            self._resumes = False
            self._pass_notes()
            self._write({"kind": RESUMED, CLOCK: {"time": self._now()}})
        self._write({**event, CLOCK: {"time": self._now(), **(clock or {})}})

    def _write(self, event: Event) -> None:
        try:
            self._file.write(_line(event))
            self._file.flush()
        except OSError as error:
            self._is_full = True
            raise self._unwritable(error) from error
        self._untold.append(event)

    def _unwritable(self, error: OSError) -> RunError:
        run = Path(self._file.name).parent
        return RunError(
            f"expected to write to {self._file.name}, got: {error.strerror or error}; see to the disk, then go on "
            f"with: coevo resume {run}"
        )

    def _tell(self) -> None:
        while self._untold:
            event = self._untold.popleft()
            for listener in self._listeners:
                listener(event)

    @property
    def _followers(self) -> list[Follower]:
        return [listener for listener in self._listeners if isinstance(listener, Follower)]

    def close(self) -> None:
        """Flush to disk and release the lock; safe to call twice."""
        with self._writing:
            if self._file.closed:
                return
            try:
                os.fsync(self._file.fileno())
                self._file.close()
            except OSError as error:
                with suppress(OSError):  # what could not be written is tried once more, and then let go
                    self._file.close()
                if not self._is_full:
                    raise self._unwritable(error) from error
        for follower in self._followers:
            follower.end()

    def __enter__(self) -> "EventLog":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def read_events(path: Path) -> Iterator[Event]:
    """The events of a log, without locking it; a torn last line and endings that were gone on from are left out.

    Raises:
        RunError: If the file is missing or a line before the last is not valid.
    """
    if not path.is_file():
        raise RunError(f"expected an event log at {path}, found none; is this a run directory?")
    with path.open("rb") as file:
        events, _ = _read(path, file)
    resumes = [place for place, event in enumerate(events) if event["kind"] == RESUMED]
    last = resumes[-1] if resumes else -1
    yield from (event for place, event in enumerate(events) if place > last or event.get(ASIDE) != ENDING)


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
    text = json.dumps(event, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        return f"{text}\n".encode()
    except UnicodeEncodeError:  # half of a surrogate pair is no UTF-8; escaped, it can be recorded as it came
        return (json.dumps(event, allow_nan=False, separators=(",", ":")) + "\n").encode()


def _differing(event: Event, other: Event) -> str:
    """The kind of an event, and what it says otherwise than another: its beginning would hardly tell."""
    return _short({key: value for key, value in event.items() if key == "kind" or other.get(key) != value})


def _short(event: Event) -> str:
    return json.dumps(event, ensure_ascii=False)[:160]
