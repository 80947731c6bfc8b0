"""Trackio: a local database that `trackio show` draws; TRACKIO_PROJECT ("coevo" without) and the rest are its own."""

import os
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from importlib import import_module
from typing import Any

from coevo.reporting.trackers.tracker import Tracked


class TrackioTracker:
    """See `Tracker`. What Trackio prints goes to standard error: standard output is the result's."""

    def open(self, run: Tracked) -> str:
        """See `Tracker`."""
        self._trackio: Any = import_module("trackio")
        with redirect_stdout(sys.stderr):
            self._run: Any = self._trackio.init(
                project=os.environ.get("TRACKIO_PROJECT", "coevo"),
                name=run.known_as or run.name,
                config=dict(run.config),
                resume="allow",
                embed=False,
            )
        return str(self._run.name)

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """See `Tracker`."""
        self._run.log(dict(metrics), step=step)

    def keep(self, name: str, text: str) -> None:
        """See `Tracker`; as Markdown."""
        self._run.log({name: self._trackio.Markdown(f"```python\n{text}\n```")})

    def finish(self) -> None:
        """See `Tracker`."""
        with redirect_stdout(sys.stderr):
            self._run.finish()
