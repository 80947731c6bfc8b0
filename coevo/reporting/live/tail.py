"""Following an event log that another process writes: whole lines as they come, without a lock and without a write.

What is told is what `read_events` gives, but for the texts of completions (`lines.py`). An ending is told as it comes,
although the run may be resumed: when it is, the log is told anew without that ending.
"""

import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from coevo.errors import RunError
from coevo.records.event_log import ASIDE, ENDING, RESUMED, Event
from coevo.reporting.live.lines import event_of, kind_of

Signature = tuple[int, int, int] | None
"""Inode, size and time of the last change of a file; None where there is none."""

_REMEMBERED = 256
"""Bytes before the place reached by which a log that was written anew is known."""
_LINES_PER_GLANCE = 64
"""Lines read between two looks at the clock."""


def signature_of(path: Path) -> Signature:
    """What tells whether a file has changed since; only regular files have one."""
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


class EventTail:
    """The events of one log, each told once. A last line without its end is waited for.

    Args:
        path: The log; it need not be there yet.
        take: Called with each event, in order.
        anew: Called before the first event of a log that took the place of the one told so far, because it is another
            file, has shrunk, or differs in what was told last; and before a log is told without an ending.
        passed_over: Kinds of events that are not told, nor looked into; `resumed` cannot be one.

    Attributes:
        offset: Bytes of the log that have been read; while an event is told, where its line begins.
    """

    def __init__(
        self,
        path: Path,
        take: Callable[[Event], None],
        anew: Callable[[], None],
        passed_over: frozenset[str] = frozenset(),
    ):
        self._path = path
        self._take = take
        self._anew = anew
        self._passed_over = {kind.encode() for kind in passed_over}
        self._seen: Signature = None
        self._forget()

    def _forget(self) -> None:
        self._inode: int | None = None
        self._resumed_at = 0
        self._refusal = ""
        self._refused = b""
        self._rewind()

    def _rewind(self) -> None:
        self.offset = self._lines = 0
        self._last = b""
        self._has_ending = False

    @property
    def size(self) -> int:
        """Bytes of the log; 0 where there is none."""
        found = signature_of(self._path)
        return found[1] if found else 0

    @property
    def share(self) -> float:
        """How much of the log has been read, as a fraction of its bytes; 1 where there is none."""
        size = self.size
        return min(1.0, self.offset / size) if size else 1.0

    def read(self, until: float = float("inf")) -> bool:
        """Tell what is new.

        Args:
            until: Monotonic time after which to stop early.

        Returns:
            Whether everything that is there has been told.

        Raises:
            RunError: If a line is no event, or `take` refuses it; again at every call until the log is another.
        """
        now = signature_of(self._path)
        if now is None or now == self._seen:
            return self._checked()
        try:
            with self._path.open("rb") as file:
                if self._is_another(file):
                    self._forget()
                    self._anew()
                self._inode = os.fstat(file.fileno()).st_ino
                is_done = self._checked() and self._follow(file, until)
        except OSError as error:
            raise RunError(f"expected to read {self._path}, got: {error.strerror}") from error
        if is_done:
            self._seen = now
        return is_done

    def _checked(self) -> bool:
        if self._refusal:
            raise RunError(self._refusal)
        return True

    def _is_another(self, file: BinaryIO) -> bool:
        """Whether the file is not the one read so far with more at its end."""
        if self._inode is None:
            return False
        begin = self.offset - len(self._last)
        file.seek(begin)
        known = self._last + self._refused
        return os.fstat(file.fileno()).st_ino != self._inode or file.read(len(known)) != known

    def _follow(self, file: BinaryIO, until: float) -> bool:
        file.seek(self.offset)
        for line in file:
            if not line.endswith(b"\n"):
                return True
            try:
                is_told = self._tell(line)
            except RunError as error:
                self._refusal, self._refused = str(error), line[:_REMEMBERED]
                raise
            if not is_told:
                return self._without_ending(file, until)
            self.offset += len(line)
            self._lines += 1
            self._last = line[-_REMEMBERED:]
            if self._lines % _LINES_PER_GLANCE == 0 and time.monotonic() > until:
                return False
        return True

    def _without_ending(self, file: BinaryIO, until: float) -> bool:
        """Tell the log anew, without the endings before the last resume that it has."""
        at = self._resumed_at = self.offset
        file.seek(at)
        for line in file:
            # The last of many, so that a log is read twice at most however often its run was resumed.
            if kind_of(line) == RESUMED.encode() and line.endswith(b"\n"):
                self._resumed_at = at
            at += len(line)
        self._rewind()
        self._anew()
        return self._follow(file, until)

    def _tell(self, line: bytes) -> bool:
        """Tell an event; returns False for a resume after an ending that has been told."""
        if self._passed_over and kind_of(line) in self._passed_over:
            return True
        try:
            event = event_of(line)
        except (ValueError, RecursionError) as error:
            where = f"{self._path}:{self._lines + 1}"
            raise RunError(f"{where}: expected one JSON event, got {line[:40]!r}: {error}") from error
        if event.get(ASIDE) == ENDING:
            if self.offset < self._resumed_at:
                return True
            self._has_ending = True
        elif event["kind"] == RESUMED and self._has_ending:
            return False
        self._take(event)
        return True
