"""TensorBoard: event files in the run's own directory, written by the package `tensorboard` alone.

`tensorboard --logdir runs` shows every run under its name.
"""

import time
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from coevo.reporting.trackers.tracker import Tracked

FOLDER = "tensorboard"
"""Where in the run directory."""


class TensorBoardTracker:
    """See `Tracker`. A resumed run adds a file of its own, which TensorBoard shows as one curve with the others."""

    def open(self, run: Tracked) -> str:
        """See `Tracker`."""
        writer = import_module("tensorboard.summary.writer.event_file_writer")
        self._event: Any = import_module("tensorboard.compat.proto.event_pb2").Event
        self._summary: Any = import_module("tensorboard.compat.proto.summary_pb2").Summary
        self._text: Any = import_module("tensorboard.plugins.text.summary_v2").text_pb
        self._writer: Any = writer.EventFileWriter(str(run.folder / FOLDER))
        self._step = 0
        return FOLDER

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """See `Tracker`."""
        self._step = step
        values = [self._summary.Value(tag=name, simple_value=value) for name, value in metrics.items()]
        self._add(self._summary(value=values))

    def keep(self, name: str, text: str) -> None:
        """See `Tracker`; shown under Text, as code."""
        self._add(self._text(name, "\n".join(f"    {line}" for line in text.splitlines())))

    def finish(self) -> None:
        """See `Tracker`."""
        self._writer.close()

    def _add(self, summary: Any) -> None:
        self._writer.add_event(self._event(wall_time=time.time(), step=self._step, summary=summary))
        self._writer.flush()
