"""Waiting with a word: what a run waits for long is said, because from outside it looks like a run that hangs."""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

T = TypeVar("T")

ROOM_QUIET_S = 10.0
"""How long an actor may wait for free resources before that is said."""
QUIET_S = 60.0
"""How long an actor may be silent before its process is looked after; long answers of large models take longer."""
PING_S = 20.0
"""How long that process may take to say that it is there."""


def awaited(future: "Future[T]", quiet_s: float, remind: Callable[[], None]) -> T:
    """The result of a future, with a reminder each time that it has been awaited for so long.

    Args:
        future: Of the call.
        quiet_s: Seconds between reminders.
        remind: Says what is waited for; it may take its time.

    Raises:
        Exception: Whatever the future holds.
    """
    while not wait([future], quiet_s).done:
        remind()
    return future.result()


class Once:
    """Says each line once, whoever says it: a whole pool may wait for the same."""

    def __init__(self) -> None:
        self._said: set[str] = set()
        self._lock = threading.Lock()

    def warn(self, line: str) -> None:
        """Log a warning, unless it has been said."""
        with self._lock:
            is_new = line not in self._said
            self._said.add(line)
        if is_new:
            logging.getLogger(__name__).warning("%s", line)
