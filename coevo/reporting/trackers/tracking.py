"""A listener that sends the numbers of a run to a tracker, and cannot hurt the run.

The recorded past of a resumed run is read for its sums and not sent again: everything before the `resumed` event is
past. What is sent goes through a thread of its own, so that a slow network delays nothing; a tracker that raises is
warned of once and dropped.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

from coevo.errors import CoevoError, one_line
from coevo.records.event_log import RESUMED, Event, Follower
from coevo.records.run_directory import RunDirectory
from coevo.reporting.trackers.metrics import Reader
from coevo.reporting.trackers.tracker import Tracked, Tracker, tracker_named

_log = logging.getLogger(__name__)

BEST = "best.py"
_PATIENCE_S = 60.0
"""How long the end of a run waits for what is left to be sent."""


class Tracking(Follower):
    """Follows one run for one tracker.

    Args:
        name: What the tracker is called in warnings and in the run directory.
        tracker: Where the numbers go.
        patience_s: How long the end of the run waits for it.
    """

    def __init__(self, name: str, tracker: Tracker, patience_s: float = _PATIENCE_S) -> None:
        self._name = name
        self._tracker = tracker
        self._patience_s = patience_s
        self._is_dropped = False
        self._is_past = False
        self._reader = Reader()
        self._jobs: SimpleQueue[Callable[[], Any] | None] = SimpleQueue()
        self._thread: Thread | None = None

    def begin(self, path: Path, recorded: tuple[Event, ...]) -> None:
        """See `Follower`."""
        self._directory = RunDirectory(path.parent)
        self._is_past = bool(recorded)
        with self._guarded():
            config = self._directory.config()
            self._reader = Reader(charges_first=config.get("charge_first", True))
            known = self._directory.trackers().get(self._name, "")
            found = self._tracker.open(Tracked(self._directory.path.resolve(), config, known))
            self._directory.save_tracker(self._name, found)
        if not self._is_dropped:
            self._thread = Thread(target=self._work, name=f"coevo-{self._name}", daemon=True)
            self._thread.start()

    def __call__(self, event: Event) -> None:
        """See `Follower`."""
        if self._is_dropped:
            return
        self._is_past = self._is_past and event["kind"] != RESUMED
        reading = self._reader.take(event)
        if reading is not None and not self._is_past:
            step, metrics = reading
            self._jobs.put(lambda: self._tracker.log(metrics, step))

    def end(self) -> None:
        """See `Follower`."""
        if self._thread is None:
            return
        best = self._directory.path / BEST
        if best.is_file():
            self._jobs.put(lambda: self._tracker.keep(BEST, best.read_text()))
        self._jobs.put(lambda: self._tracker.finish())
        self._jobs.put(None)
        self._thread.join(self._patience_s)
        if self._thread.is_alive():
            _log.warning("%s has not taken everything within %.0f s; it is left behind", self._name, self._patience_s)
        self._thread = None

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            if not self._is_dropped:
                with self._guarded():
                    job()

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # whatever a backend raises, the run goes on
            self._is_dropped = True
            words = one_line(error, 200)
            _log.warning("%s fails and is dropped, the run goes on: %s: %s", self._name, type(error).__name__, words)


def tracking(names: Iterable[str]) -> tuple[Tracking, ...]:
    """Listeners for the trackers of these names, to be given to a search or a tuning run.

    Raises:
        ConfigError: If there is none of a name.
        ExtraMissingError: If the package of one is not installed.
    """
    return tuple(Tracking(name, tracker_named(name)) for name in dict.fromkeys(names))


def tracking_again(run: Path) -> tuple[Tracking, ...]:
    """Listeners for the trackers that an earlier session of a run had; one that is not there any more is warned of."""
    found: list[Tracking] = []
    for name in RunDirectory(run).trackers():
        try:
            found += tracking([name])
        except CoevoError as error:
            _log.warning("%s is not tracked any more: %s", run, error)
    return tuple(found)
