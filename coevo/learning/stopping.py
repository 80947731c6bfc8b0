"""When a run ends before its plan: target reached, no progress, or time is up."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from coevo.records.event_log import Event

StopReason = Literal["target", "patience", "time"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What ends a run early; None for no such limit.

    Attributes:
        target: Cost (minimised) at which the purpose is reached.
        patience: Generations without a lower cost.
        max_hours: Wall time.
    """

    target: float | None = None
    patience: int | None = None
    max_hours: float | None = None


class StopRule:
    """Asked once after every generation. What a resumed run decided before its interruption stays decided.

    Args:
        limits: What to stop at.
        now: Seconds, monotonic; the clock starts at construction.
        past: The recorded events.
    """

    def __init__(self, limits: Limits, now: Callable[[], float], past: Iterable[Event]):
        self._target = limits.target
        self._patience = limits.patience
        self._seconds = None if limits.max_hours is None else 3600 * limits.max_hours
        self._now = now
        self._started = now()
        self._best = float("inf")
        self._without_progress = 0
        self._decided = {event["generation"]: event["stop"] for event in past if event["kind"] == "generation"}

    def begun(self, best: float) -> StopReason | None:
        """Take the cost that a run begins with, before its first generation; the reason not to begin, if there is one.

        Progress is counted from here. Time is not asked for: what has taken none yet cannot have taken too much.
        """
        self._best = best
        return "target" if self._target is not None and best <= self._target else None

    def reached(self, generation: int, best: float) -> StopReason | None:
        """The reason to stop after this generation, whose best cost is given; None to go on."""
        self._without_progress = 0 if best < self._best else self._without_progress + 1
        self._best = min(best, self._best)
        if generation in self._decided:
            decided: StopReason | None = self._decided[generation]
            return decided
        if self._target is not None and best <= self._target:
            return "target"
        if self._patience is not None and self._without_progress >= self._patience:
            return "patience"
        if self._seconds is not None and self._now() - self._started >= self._seconds:
            return "time"
        return None
