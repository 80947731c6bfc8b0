"""Calls of environments in threads, each within its time: the loop never waits for a tool that hangs."""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

_Call = tuple[int, Callable[[], Any]]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call came to: a value, or the exception it raised; `TimeoutError` for one that took too long."""

    ticket: int
    value: Any = None
    error: BaseException | None = None


def answer_in_time(function: Callable[[], Any], limit_s: float) -> Answer:
    """Make one call in a thread of its own; see `Hands`."""
    hands = Hands(1, limit_s)
    hands.call(function)
    try:
        (answer,) = hands.answers(wait_s=None)
    finally:
        hands.close()
    return answer


class Hands:
    """Threads that make calls, at most `most` of them at a time.

    A call that is not back in time is answered with a `TimeoutError`. Its thread cannot be stopped, so another takes
    its place, and what it says later is not heard; being a daemon it does not keep the process alive.

    Args:
        most: Threads; there should be as many as calls in flight, so that no call waits for another.
        limit_s: Wall time of a call.
    """

    def __init__(self, most: int, limit_s: float) -> None:
        self._most = most
        self._limit_s = limit_s
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._due: dict[int, float] = {}
        self._lock = threading.Lock()
        self._threads = 0
        self._tickets = 0

    @property
    def in_flight(self) -> int:
        """Calls whose answer has not been given out."""
        return len(self._due)

    def call(self, function: Callable[[], Any]) -> int:
        """Begin a call; its ticket is in the answer to it."""
        self._tickets += 1
        self._due[self._tickets] = time.monotonic() + self._limit_s
        if self._threads < min(self._most, len(self._due)):
            self._start()
        self._calls.put((self._tickets, function))
        return self._tickets

    def answers(self, *, wait_s: float | None, grace_s: float = 0.0) -> Iterator[Answer]:
        """The answers that are there.

        Args:
            wait_s: How long to wait for the first one; None as long as it takes, which a call's limit bounds.
            grace_s: How long to wait for another one after each, so that quick calls are answered together.
        """
        until = None if wait_s is None else time.monotonic() + wait_s
        while self._due:
            answer = self._next(until)
            if answer is None:
                return
            yield answer
            until = time.monotonic() + grace_s

    def close(self) -> None:
        """Let every idle thread end; safe to call twice."""
        for _ in range(self._threads):
            self._calls.put(None)
        self._threads = 0

    def _start(self) -> None:
        self._threads += 1
        threading.Thread(target=self._work, daemon=True, name=f"coevo-hand-{self._threads}").start()

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            ticket, function = call
            try:
                answer = Answer(ticket, function())
            except BaseException as error:
                answer = Answer(ticket, error=error)
            with self._lock:
                if ticket not in self._due:  # nobody waits any more, and another thread has taken this one's place
                    return
                self._answers.put(answer)

    def _next(self, until: float | None) -> Answer | None:
        """The next answer to a call that is still awaited, or None when the time is over."""
        while True:
            first_due = min(self._due.values())
            now = time.monotonic()
            limit = first_due if until is None else min(until, first_due)
            try:
                answer = self._answers.get(timeout=max(0.0, limit - now)) if limit > now else self._answers.get_nowait()
            except queue.Empty:
                if until is not None and time.monotonic() >= until:
                    return None
                late = self._late()
                if late is not None:
                    return late
                continue
            if self._due.pop(answer.ticket, None) is not None:
                return answer

    def _late(self) -> Answer | None:
        now = time.monotonic()
        with self._lock:
            # One that has been answered in the meantime is not late.
            ticket = next((t for t, due in self._due.items() if due <= now), None) if self._answers.empty() else None
            if ticket is None:
                return None
            del self._due[ticket]
            self._threads -= 1
        return Answer(ticket, error=TimeoutError(f"no answer within {self._limit_s:g} s"))
