"""Waiting with a word: what a run waits for long is said, because from outside it looks like a run that hangs."""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, TypeVar

T = TypeVar("T")

ROOM_QUIET_S = 10.0
"""How long an actor may wait for free resources before that is said."""
QUIET_S = 60.0
"""How long an actor may be silent before its process is looked after; long answers of large models take longer."""
PING_S = 20.0
"""How long that process may take to say that it is there."""


def awaited(future: "Future[T]", quiet_s: float, remind: Callable[["Future[T]"], None]) -> T:
    """The result of a future, with a reminder each time that it has been awaited for so long.

    Args:
        future: Of the call.
        quiet_s: Seconds between reminders.
        remind: Says what is waited for. It gets the future, so as not to look into it longer than there is need.

    Raises:
        Exception: Whatever the future holds.
    """
    while not wait([future], quiet_s).done:
        remind(future)
    return future.result()


def answers(asked: "Future[Any]", meanwhile: "Future[Any]", limit_s: float) -> bool | None:
    """Whether a question is answered in time; None if what it is about has come meanwhile.

    Args:
        asked: The question.
        meanwhile: What is waited for.
        limit_s: Seconds to wait for either.
    """
    wait([asked, meanwhile], limit_s, FIRST_COMPLETED)
    return None if meanwhile.done() else asked.done()


class Once:
    """Says each thing once, whoever says it: a whole pool may wait for the same."""

    def __init__(self) -> None:
        self._said: set[str] = set()
        self._lock = threading.Lock()

    def warn(self, about: str, line: str) -> None:
        """Log a warning, unless something has been said about the same, maybe with other figures."""
        with self._lock:
            is_new = about not in self._said
            self._said.add(about)
        if is_new:
            logging.getLogger(__name__).warning("%s", line)
