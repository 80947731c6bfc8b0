"""When a search ends before its budget: target reached, no progress, or time is up."""

from collections.abc import Callable, Iterable
from typing import Literal

from coevo.records.event_log import Event
from coevo.searching.config import SearchConfig

StopReason = Literal["target", "patience", "time"]


class StopRule:
    """Asked once after every generation. What a resumed run decided before its interruption stays decided.

    Args:
        config: Holds target (own sense), patience (generations) and max_hours.
        sign: +1 if the problem's objective is minimised, −1 if maximised.
        now: Seconds, monotonic; the clock starts at construction.
        past: The recorded events.
    """

    def __init__(self, config: SearchConfig, sign: float, now: Callable[[], float], past: Iterable[Event]):
        self._target = None if config.target is None else sign * config.target
        self._patience = config.patience
        self._seconds = None if config.max_hours is None else 3600 * config.max_hours
        self._now = now
        self._started = now()
        self._best = float("inf")
        self._without_progress = 0
        self._decided = {event["generation"]: event["stop"] for event in past if event["kind"] == "generation"}

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
