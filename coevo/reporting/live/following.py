"""One run under watch: its state for the list, and its page, drawn once for each version of its files."""

import gc
import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from coevo.errors import CoevoError, one_line
from coevo.records.event_log import Event
from coevo.records.run_directory import RunDirectory
from coevo.reporting.live.account import Account, account_of, grid_page_of
from coevo.reporting.live.finding import Found
from coevo.reporting.live.opening import opening_page, reading_words
from coevo.reporting.live.rendering import LivePage, live
from coevo.reporting.live.state import Name, RunState, changed_at, told_state
from coevo.reporting.live.tail import EventTail, Signature, signature_of
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
        """Bytes of its log that have not been read; does not wait for a page that is drawn."""
        account = self._account
        tails = [tail for tail in (self._tail, account.tail if account else None) if tail is not None]
        left = (max(0, tail.size - tail.offset) for tail in tails)
        return min(left) if tails else _size(self.found.path / "events.jsonl")

    def glance(self, until: float) -> Glance:
        """The state, after reading on until a monotonic time at most."""
        with self._lock, _uncollected():
            return self._glance(until)

    def _glance(self, until: float) -> Glance:
        # What the files are is told before they are read: news that come in between make another version.
        files = [signature_of(self.found.path / each) for each in _WATCHED]
        if self.found.kind == "grid":
            return self._seen(files, "grid", "a grid of searches")
        try:
            self._begun()
            is_read = self._leading[0].read(until)
            tail, tally = self._leading
            progress = tally.progress()
        except (CoevoError, OSError) as error:
            return self._seen(files, "unreadable", one_line(error))
        name, words = told_state(RunDirectory(self.found.path), progress.status, progress.kind, self._now())
        if not is_read:
            name, words = "reading", f"{tail.share:.0%} of its log read"
        return self._seen(files, name, words, progress, dict(tally.curves))

    def _seen(
        self,
        files: list[Signature],
        name: Name,
        words: str,
        progress: Progress | None = None,
        curves: Mapping[str, Curve] = MappingProxyType({}),
    ) -> Glance:
        version = hashlib.sha256(f"{files} {name} {words}".encode()).hexdigest()[:16]
        changed = changed_at(RunDirectory(self.found.path))
        state = RunState(self.found.slug, self.found.name, version, name, words, changed, progress)
        return Glance(self.found.path, state, curves)

    def _begun(self) -> None:
        if self._tail is None and self._account is None:
            self._begin()
            log = self.found.path / "events.jsonl"
            self._tail = EventTail(log, self._take, self._begin, self._tally.passed_over)

    def _begin(self) -> None:
        self._tally = tally_for(self.found.path)

    def _take(self, event: Event) -> None:
        self._tally.take(event)

    @property
    def _leading(self) -> tuple[EventTail, Tally]:
        """Of the list's reading and the page's, the one that has come further; the other need not read the same."""
        own, account = self._tail, self._account
        if account and (own is None or account.tail.offset >= own.offset):
            return account.tail, account.tally
        assert own is not None
        return own, self._tally

    def page(self, until: float) -> str:
        """The page as HTML; of a log that could not be read to its end by then, how far it has been read."""
        with self._lock, _uncollected():
            is_read, refusal = self._read_account(until)
            state = self._glance(until).state
            if state.version == self._drawn[0]:
                return self._drawn[1]
            if not is_read and not refusal:
                return self._opening(state)
            html = self._draw(state, refusal)
            self._drawn = (state.version, html)
            return html

    def _read_account(self, until: float) -> tuple[bool, str]:
        """Whether all of the log has been read for the page, and why it cannot be."""
        if self.found.kind == "grid":
            return True, ""
        try:
            self._account = self._account or account_of(self.found.path)
            return self._account.read(until), ""
        except (CoevoError, OSError) as error:
            return False, one_line(error)

    def _opening(self, state: RunState) -> str:
        tail = self._account.tail if self._account else self._leading[0]
        # No state has the empty version: the page is asked for again.
        page = LivePage(self._news, "", "reading", reading_words(tail.offset, tail.size))
        return opening_page(page, self.found.name, tail.share, state.progress)

    def _draw(self, state: RunState, refusal: str) -> str:
        page = LivePage(self._news, state.version, state.state, state.words)
        if not refusal and state.state != "unreadable":
            try:
                return self._account.page(page) if self._account else grid_page_of(self.found.path, page)
            except (CoevoError, OSError) as error:
                refusal = one_line(error)
        notice = LivePage(self._news, state.version, "unreadable", refusal or state.words)
        return live("notice.html.j2", notice, title="This run cannot be read", name=self.found.name)

    @property
    def _news(self) -> str:
        return f"/run/{self.found.slug}/state"

    def close(self) -> None:
        """Forget what only the page needs; it is read again when it is asked for."""
        with self._lock:
            self._account, self._drawn = None, ("", "")


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without Python's search for cycles, of which events and pages make next to none.

    It would walk all that is kept of a long run again and again while more is read: a fifth of the time to open one.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _size(path: Path) -> int:
    found = signature_of(path)
    return found[1] if found else 0
