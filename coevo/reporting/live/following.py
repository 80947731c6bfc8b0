"""One run under watch: its state for the list, and its page, drawn once for each version of its files."""

import hashlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from coevo.errors import CoevoError
from coevo.records.event_log import Event
from coevo.records.run_directory import RunDirectory
from coevo.reporting.live.account import Account, GridAccount, account_of
from coevo.reporting.live.finding import Found
from coevo.reporting.live.rendering import LivePage, live
from coevo.reporting.live.state import Name, RunState, changed_at, told_state
from coevo.reporting.live.tail import EventTail, signature_of
from coevo.reporting.live.tally import Curve, Progress, Tally, tally_for

_WATCHED = ("events.jsonl", "config.toml", "result.json", "environment.json", "cells.csv", "table.csv")
"""Files of a run or a grid whose change changes its page."""


@dataclass(frozen=True, slots=True)
class Glance:
    """A state with what a comparison needs besides."""

    path: Path
    state: RunState
    curves: Mapping[str, Curve]


class Following:
    """A run or a grid. Safe to use from several threads at once.

    Args:
        found: Where it is.
        now: Seconds since the epoch.
    """

    def __init__(self, found: Found, now: Callable[[], float] = time.time):
        self.found = found
        self._now = now
        self._lock = threading.Lock()
        self._tally: Tally
        self._tail: EventTail | None = None
        self._account: Account | None = None
        self._drawn = ("", "")

    @property
    def unread(self) -> int:
        """Bytes of its log that have not been read."""
        found, tail = signature_of(self.found.path / "events.jsonl"), self._tail
        return max(0, (found[1] if found else 0) - (tail.offset if tail else 0))

    def glance(self, until: float) -> Glance:
        """The state, after reading on until a monotonic time at most."""
        with self._lock:
            return self._glance(until)

    def _glance(self, until: float) -> Glance:
        if self.found.kind == "grid":
            return self._seen("grid", "a grid of searches")
        try:
            tail = self._begun()
            is_read = tail.read(until)
            progress = self._tally.progress()
        except (CoevoError, OSError) as error:
            return self._seen("unreadable", _one_line(error))
        name, words = told_state(RunDirectory(self.found.path), progress.status, progress.kind, self._now())
        if not is_read:
            name, words = "reading", f"{tail.share:.0%} of its log read"
        return self._seen(name, words, progress, dict(self._tally.curves))

    def _seen(
        self,
        name: Name,
        words: str,
        progress: Progress | None = None,
        curves: Mapping[str, Curve] = MappingProxyType({}),
    ) -> Glance:
        files = [signature_of(self.found.path / each) for each in _WATCHED]
        version = hashlib.sha256(f"{files} {name} {words}".encode()).hexdigest()[:16]
        changed = changed_at(RunDirectory(self.found.path))
        state = RunState(self.found.slug, self.found.name, version, name, words, changed, progress)
        return Glance(self.found.path, state, curves)

    def _begun(self) -> EventTail:
        if self._tail is None:
            self._begin()
            log = self.found.path / "events.jsonl"
            self._tail = EventTail(log, self._take, self._begin, self._tally.passed_over)
        return self._tail

    def _begin(self) -> None:
        self._tally = tally_for(self.found.path)

    def _take(self, event: Event) -> None:
        self._tally.take(event)

    def page(self, until: float) -> str:
        """The page as HTML; of a log that could not be read to its end by then, what was read of it."""
        with self._lock:
            state = self._glance(until).state
            if state.version == self._drawn[0]:
                return self._drawn[1]
            version, html = self._draw(state, until)
            self._drawn = (version, html)
            return html

    def _draw(self, state: RunState, until: float) -> tuple[str, str]:
        address, words = f"/run/{self.found.slug}/state", state.words
        version = state.version
        try:
            if state.state != "unreadable":
                self._account = self._account or self._opened()
                if not self._account.read(until):
                    # No state has this version: the page is asked for again.
                    version, words = "", "still reading the log; what has been read of it is shown"
                page = LivePage(address, version, "reading" if not version else state.state, words)
                return version, self._account.page(page)
        except (CoevoError, OSError) as error:
            words = _one_line(error)
        notice = LivePage(address, version, "unreadable", words)
        return version, live("notice.html.j2", notice, title="This run cannot be read", name=self.found.name)

    def _opened(self) -> Account:
        return GridAccount(self.found.path) if self.found.kind == "grid" else account_of(self.found.path)

    def close(self) -> None:
        """Forget what only the page needs; it is read again when it is asked for."""
        with self._lock:
            self._account, self._drawn = None, ("", "")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
