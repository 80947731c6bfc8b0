"""One place in a fleet: an engine, and another one like it when it fails."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from coevo.engines.fleet.call import Call
from coevo.engines.fleet.faults import FAILURES, EngineDisagreement, EngineLost
from coevo.engines.fleet.jobs import Job
from coevo.errors import ModelError
from coevo.interfaces import Engine, Update

_log = logging.getLogger(__name__)

OpenEngine = Callable[[], Engine]
"""Makes an engine with the weights that a run began with; called once more for each that has failed."""

RESTARTS = 3
"""Engines opened in a row on one place without one of them finishing a job, after which the place is given up.

A process that the kernel killed for memory, or a node that restarts, is back by then; a broken card is not, and each
attempt loads a model and replays a history.
"""


@dataclass(frozen=True, slots=True)
class Goal:
    """The weights that an engine has to arrive at.

    Attributes:
        updates: All that have been committed, oldest first.
        fingerprint: Where they lead, or None while that is not known.
    """

    updates: tuple[Update, ...] = ()
    fingerprint: int | None = None


@dataclass(frozen=True, slots=True)
class SeatMeter:
    """What one place of a fleet has done so far.

    Attributes:
        jobs: Jobs it finished.
        requests: Requests it answered.
        restarts: Engines it opened after the first.
        busy_s: Seconds of wall time in which its engine was at work on jobs.
        is_out: Whether it has been given up.
    """

    jobs: int = 0
    requests: int = 0
    restarts: int = 0
    busy_s: float = 0.0
    is_out: bool = False


class Seat:
    """An engine of a fleet. One thread at a time uses it; `close` may come from another one.

    Args:
        number: Of the place, from 0, for messages.
        open_engine: Makes its engine.
        heals: Whether an engine that arrives at other weights is opened once more, instead of raising.
    """

    def __init__(self, number: int, open_engine: OpenEngine, *, heals: bool) -> None:
        self.number = number
        self._open = open_engine
        self._heals = heals
        self._engine: Engine | None = None
        self._is_closed = threading.Event()
        self._closing = threading.Lock()
        self._in_a_row = 0
        self._jobs, self._requests, self._restarts, self._busy_s = 0, 0, 0, 0.0
        self.is_out = False

    @property
    def engine(self) -> Engine:
        """The engine that sits here now."""
        if self._engine is None:
            raise EngineLost(f"expected an engine on place {self.number}, but it is closed")
        return self._engine

    @property
    def meter(self) -> SeatMeter:
        """What it has done so far."""
        return SeatMeter(self._jobs, self._requests, self._restarts, self._busy_s, self.is_out)

    def open(self) -> None:
        """Make the first engine.

        Raises:
            CoevoError: As the engine's constructor.
        """
        self._engine = self._open()

    def serve(self, call: Call, goal: Goal) -> None:
        """Take jobs until there are none; an engine that fails is replaced and its job given back first.

        Args:
            call: Where jobs come from and answers go.
            goal: The weights they are to be answered with.
        """
        try:
            while (job := call.take()) is not None:
                error = self._attempt(call, job)
                call.give_back(job, error)
                if error is not None and not call.is_over:
                    self.reopen(error, goal)
        except FAILURES as error:
            if not self.is_out:
                call.end(error)
        except BaseException as error:
            call.end(error)  # crosses to the caller's thread
        finally:
            call.leave()

    def reopen(self, cause: BaseException, goal: Goal) -> int:
        """Open the engine anew and take it to a goal; the fingerprint it arrives at.

        Raises:
            EngineDisagreement: If it arrives at other weights, and that is not to be healed.
            ModelError: The last failure, once the place is given up (or another of `FAILURES`).
        """
        while self._in_a_row < RESTARTS and not self._is_closed.is_set():
            self._in_a_row += 1
            self._restarts += 1
            _log.warning("engine %d failed (%s); it is opened anew", self.number, cause)
            try:
                return self._renewed(goal)
            except EngineDisagreement as error:
                if not self._heals:
                    raise
                cause = error
            except FAILURES as error:
                cause = error
        self.is_out = True
        self._release()
        if not self._is_closed.is_set():
            _log.warning("engine %d is given up (%s)", self.number, cause)
        raise cause

    def close(self) -> None:
        """Close the engine, and open no other; safe to call twice."""
        self._is_closed.set()
        self._release()

    def _attempt(self, call: Call, job: Job) -> BaseException | None:
        """Answer a job; the failure that came between, if one did."""
        began, asked = time.monotonic(), len(job.requests)
        try:
            for completion in self.engine.generate(list(job.requests.values())):
                call.answer(job, completion)
                if call.is_over and job.requests:
                    return None
            if job.requests:
                return ModelError(f"expected an answer to every request, got none to {', '.join(job.requests)[:80]}")
        except FAILURES as error:
            return error
        finally:
            self._busy_s += time.monotonic() - began
            self._requests += asked - len(job.requests)
        self._jobs += 1
        self._in_a_row = 0
        return None

    def _renewed(self, goal: Goal) -> int:
        self._release()
        self._engine = self._open()
        reached = _replay(self._engine, goal.updates)
        if goal.fingerprint not in (None, reached):
            raise EngineDisagreement(
                f"expected engine {self.number}, opened anew, to reach fingerprint {goal.fingerprint:016x} by "
                f"replaying {len(goal.updates)} updates, got {reached:016x}; check its model folder and its memory"
            )
        return reached

    def _release(self) -> None:
        with self._closing:
            if self._engine is not None:
                with suppress(*FAILURES):  # it may have failed already, and that has been said
                    self._engine.close()


def _replay(engine: Engine, updates: Sequence[Update]) -> int:
    reached = None
    for update in updates:
        reached = engine.commit(update)
    return engine.fingerprint() if reached is None else reached
