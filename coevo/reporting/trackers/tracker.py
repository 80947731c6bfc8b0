"""What a tracker is, and those there are. A backend's package is loaded when the tracker is opened, and not before.

Keys and addresses are the backend's own business: it reads them from the environment. coevo neither takes nor writes
any.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from coevo.errors import ConfigError, ExtraMissingError


@dataclass(frozen=True, slots=True)
class Tracked:
    """The run that is to be tracked.

    Attributes:
        folder: Its directory, whose name is the run's.
        config: Its resolved configuration, plain values.
        known_as: What the tracker called it when an earlier session opened it, or "".
    """

    folder: Path
    config: Mapping[str, Any] = field(default_factory=dict)
    known_as: str = ""

    @property
    def name(self) -> str:
        """The run's name."""
        return self.folder.name


class Tracker(Protocol):
    """Where numbers of one run go. Every method may raise whatever its backend raises."""

    def open(self, run: Tracked) -> str:
        """Begin a run of the tracker's, go on with that of an earlier session, or join the one that is active.

        Called in the thread that starts the run; the other methods may be called in another one.

        Returns:
            What the tracker calls it, for later sessions.
        """

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """Keep numbers at a step; steps never go back."""

    def keep(self, name: str, text: str) -> None:
        """Keep a text, such as the best heuristic's code, under the name of a file."""

    def finish(self) -> None:
        """Send what is left. A run that was active before is left open."""


_WHERE = {
    "tensorboard": ("coevo.reporting.trackers.tensorboard", "TensorBoardTracker", "trackers"),
    "wandb": ("coevo.reporting.trackers.wandb", "WandbTracker", "trackers"),
    "mlflow": ("coevo.reporting.trackers.mlflow", "MlflowTracker", "trackers"),
    "trackio": ("coevo.reporting.trackers.trackio", "TrackioTracker", "trackio"),
}
"""Module, class and the extra that brings it, by the name of its package."""
NAMES = tuple(_WHERE)
"""What can be named by --track."""


def tracker_named(name: str) -> Tracker:
    """A tracker that is not open yet.

    Raises:
        ConfigError: If there is none of the name.
        ExtraMissingError: If its package is not installed.
    """
    if name not in _WHERE:
        raise ConfigError(f"expected a tracker among {', '.join(NAMES)} for --track, got {name!r}")
    module, made, extra = _WHERE[name]
    if find_spec(name) is None:
        raise ExtraMissingError(name, extra, f"--track {name}")
    tracker: Tracker = getattr(import_module(module), made)()
    return tracker
