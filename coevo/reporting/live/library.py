"""Every run below the named folders: the list, the pages, and the comparison, each with its version."""

import hashlib
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from coevo.reporting.live.comparing import MOST, comparison_page
from coevo.reporting.live.finding import find
from coevo.reporting.live.following import Following, Glance
from coevo.reporting.live.rendering import LivePage, live
from coevo.reporting.live.state import RunState

SCAN_S = 1.0
"""Seconds for which a look at the folders holds."""
LIST_S = 0.6
"""Seconds that one request for the list or a comparison may read logs for; the rest is read with the next one."""
PAGE_S = 0.4
"""The same for a run's page, which until then only says how far its log has been read."""
OPEN = 8
"""Runs told in full at a time; of the others only what the list shows is kept."""


class Library:
    """The runs below some folders, found again and again. Safe to use from several threads at once.

    Args:
        places: Folders of runs, grids or run directories; they need not be there yet.
        now: Seconds since the epoch.
        clock: Monotonic seconds.
    """

    def __init__(
        self, places: Sequence[Path], now: Callable[[], float] = time.time, clock: Callable[[], float] = time.monotonic
    ):
        self._places = tuple(places)
        self._now = now
        self._clock = clock
        self._lock = threading.Lock()
        self._runs: dict[str, Following] = {}
        self._open: OrderedDict[str, Following] = OrderedDict()
        self._scanned = float("-inf")

    def runs(self) -> dict[str, Following]:
        """Every run that is there, by slug, in order of names."""
        with self._lock:
            if self._clock() - self._scanned >= SCAN_S:
                self._runs = {
                    each.slug: self._runs.get(each.slug) or Following(each, self._now) for each in find(self._places)
                }
                self._open = OrderedDict((slug, run) for slug, run in self._open.items() if slug in self._runs)
                self._scanned = self._clock()
            return self._runs

    def states(self) -> list[RunState]:
        """The runs as the list shows them, the one that changed last first."""
        found = [glance.state for glance in self._glances(list(self.runs().values()))]
        return sorted(found, key=lambda state: state.changed or 0.0, reverse=True)

    def _glances(self, runs: Sequence[Following]) -> list[Glance]:
        until = self._clock() + LIST_S
        # What is quickly read comes first, so that one long log holds up no other.
        read = {run.found.slug: run.glance(until) for run in sorted(runs, key=lambda run: run.unread)}
        return [read[run.found.slug] for run in runs]

    def list_page(self) -> str:
        """The list as HTML."""
        states = self.states()
        page = LivePage("/state", _version(states))
        return live("runs.html.j2", page, runs=states, places=[str(place) for place in self._places])

    def list_news(self) -> str:
        """The list as a JSON object with its version."""
        states = self.states()
        return json.dumps({"version": _version(states), "runs": [asdict(state) for state in states]}, allow_nan=False)

    def run_page(self, slug: str) -> str | None:
        """The page of a run as HTML; None where there is no such run."""
        if (run := self.runs().get(slug)) is None:
            return None
        self._keep_open(slug, run)
        return run.page(self._clock() + PAGE_S)

    def run_news(self, slug: str) -> str | None:
        """The state of a run as a JSON object with its version; None where there is no such run."""
        run = self.runs().get(slug)
        return run.glance(self._clock() + LIST_S).state.as_json() if run else None

    def _keep_open(self, slug: str, run: Following) -> None:
        with self._lock:
            self._open[slug] = run
            self._open.move_to_end(slug)
            closed = [self._open.popitem(last=False)[1] for _ in range(len(self._open) - OPEN)]
        for each in closed:
            each.close()

    def compared_page(self, slugs: Sequence[str], query: str) -> str:
        """Runs side by side as HTML; what is no run is left out, and what goes beyond the most that fit.

        Args:
            slugs: Of the runs.
            query: What asks for the same again: the query of the page's address, made by `urlencode`.
        """
        glances = self._chosen(slugs)
        page = LivePage(f"/compare/state?{query}", _version([each.state for each in glances]))
        return comparison_page(glances[:MOST], page, left_out=len(glances[MOST:]))

    def compared_news(self, slugs: Sequence[str]) -> str:
        """The version of a comparison as a JSON object."""
        return json.dumps({"version": _version([each.state for each in self._chosen(slugs)])})

    def _chosen(self, slugs: Sequence[str]) -> list[Glance]:
        runs = self.runs()
        return self._glances([runs[slug] for slug in dict.fromkeys(slugs) if slug in runs])


def _version(states: Sequence[RunState]) -> str:
    return hashlib.sha256(" ".join(f"{each.slug} {each.version}" for each in states).encode()).hexdigest()[:16]
