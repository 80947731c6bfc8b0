"""The engine that is several: work is shared by whoever is free, updates are applied by each, fingerprints must agree.

No weights travel, neither between engines nor from here: an engine is sent requests and the few numbers of an update.
One that fails gives its unanswered requests back, is opened anew, replays the updates and goes on. Answers are the same
whatever the number of engines, as far as an engine's answer to a request depends on its weights and the request alone.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

from coevo.engines.fleet.call import Call
from coevo.engines.fleet.faults import FAILURES, EngineDisagreement, EngineLost
from coevo.engines.fleet.jobs import split_into_jobs
from coevo.engines.fleet.seat import Goal, OpenEngine, Seat, SeatMeter
from coevo.errors import ModelError
from coevo.interfaces import Completion, Engine, Request, Update

_T = TypeVar("_T")

_GRACE_S = 1.0
"""How long `close` waits for engines at work to come to their next answer, before it closes them under their hands."""
_CLOSE_AGAIN_S = 0.05


class FleetEngine:
    """See `coevo.interfaces.Engine`. One `generate` at a time: a new one abandons what is left of the last.

    Args:
        openers: How each engine is opened, all with the same weights; called at once, each in a thread of its own, and
            again for an engine that has failed.
        slots: Models that one engine serves at a time, each in a process of its own.
        heals: Whether an engine that disagrees with the others is opened anew instead of ending the run.

    Raises:
        CoevoError: If an engine cannot be opened. Afterwards, a place on which none can be is done without.
        ValueError: If there is no opener, or no slot.
    """

    def __init__(self, openers: Sequence[OpenEngine], *, slots: int = 1, heals: bool = False) -> None:
        if not openers or slots < 1:
            raise ValueError(f"expected an engine with a slot or more, got {len(openers)} with {slots}")
        self._seats = [Seat(number, opener, heals=heals) for number, opener in enumerate(openers)]
        self._slots = slots
        self._heals = heals
        self._goal = Goal()
        self._call: Call | None = None
        self._threads: list[threading.Thread] = []
        opened = self._everywhere(self._seats, lambda seat: seat.open())
        if failed := [value for value in opened.values() if isinstance(value, BaseException)]:
            self.close()
            raise failed[0]

    @property
    def meter(self) -> tuple[SeatMeter, ...]:
        """What each place of the fleet has done so far."""
        return tuple(seat.meter for seat in self._seats)

    def generate(self, requests: Sequence[Request]) -> Iterator[Completion]:
        """See `Engine`. Completions come in an order that depends on timing; their content does not.

        Raises:
            ModelError: If two engines fail alike over the same requests, or none is left.
            EngineDisagreement: If an engine that was opened anew arrives at other weights.
        """
        if len({request.id for request in requests}) < len(requests):
            raise ValueError("every request needs an id of its own, got one twice")
        self._make_ready()
        if not requests:
            return
        working, goal = self._working(), self._goal
        call = self._call = Call(split_into_jobs(requests, len(self._seats), self._slots), len(working))
        self._start([partial(seat.serve, call, goal) for seat in working])
        yield from call.answers()

    def commit(self, update: Update) -> int:
        """See `Engine`.

        Raises:
            ModelError: If no engine is left that can apply it.
            EngineDisagreement: If engines arrive at different weights.
        """
        self._make_ready()
        return self._reach(lambda engine: engine.commit(update), Goal((*self._goal.updates, update)))

    def fingerprint(self) -> int:
        """See `Engine`.

        Raises:
            ModelError: If no engine is left; before anything else, if one of them cannot be served.
            EngineDisagreement: If weights are not those of the last time although no update came, or not all the same.
        """
        self._settle()
        return self._reach(lambda engine: engine.fingerprint(), self._goal)

    def export(self, folder: Path) -> None:
        """See `Engine`: the first engine that can writes; all have the same weights.

        Raises:
            ModelError: If none can.
        """
        self._settle()
        *others, last = self._working()
        for seat in others:
            try:
                return seat.engine.export(folder)
            except FAILURES:
                continue
        return last.engine.export(folder)

    def close(self) -> None:
        """See `Engine`; also in the middle of `generate`."""
        if self._call is not None:
            self._call.end()
        until = time.monotonic() + _GRACE_S
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        for seat in self._seats:
            seat.close()
        # A thread may have been about to open another engine: whatever it opens is closed as well, until it ends.
        for thread in self._threads:
            while thread.is_alive():
                thread.join(_CLOSE_AGAIN_S)
                for seat in self._seats:
                    seat.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _working(self) -> list[Seat]:
        working = [seat for seat in self._seats if not seat.is_out]
        if not working:
            raise ModelError(f"expected one of {len(self._seats)} engines to work, but all have been given up")
        return working

    def _make_ready(self) -> None:
        """Wait for what is left of the last call, and let engines that have not been asked anything yet agree first."""
        self._settle()
        if self._goal.fingerprint is None:
            self.fingerprint()

    def _settle(self) -> None:
        """End the last call: engines stop at their next answer, and one that is being opened is waited for."""
        if self._call is not None:
            self._call.end()
        for thread in self._threads:
            thread.join()

    def _start(self, acts: Sequence[Callable[[], None]]) -> None:
        self._threads = [threading.Thread(target=act, name="coevo-engine", daemon=True) for act in acts]
        for thread in self._threads:
            thread.start()

    def _everywhere(self, seats: Sequence[Seat], act: Callable[[Seat], _T]) -> dict[Seat, _T | BaseException]:
        """Do something on several places at once; what it came to on each."""
        found: dict[Seat, _T | BaseException] = {}

        def note(seat: Seat) -> None:
            try:
                found[seat] = act(seat)
            except BaseException as error:
                found[seat] = error  # crosses to the caller's thread

        self._start([partial(note, seat) for seat in seats])
        for thread in self._threads:
            thread.join()
        return {seat: found[seat] for seat in seats}

    def _reach(self, act: Callable[[Engine], int], goal: Goal) -> int:
        """Let every engine act; the fingerprint that all have then. One that fails in it is taken to the goal anew."""
        is_first = self._goal.fingerprint is None

        def attempt(seat: Seat) -> int:
            try:
                return act(seat.engine)
            except FAILURES as error:
                if is_first and not isinstance(error, EngineLost):
                    raise  # most likely it never will: a model that cannot be served shows now
                return seat.reopen(error, goal)

        found = _fingerprints(self._everywhere(self._working(), attempt))
        self._goal = goal
        reached = self._agreed(found)
        self._goal = Goal(goal.updates, reached)
        return reached

    def _agreed(self, found: Mapping[Seat, int]) -> int:
        """The fingerprint that engines have, after those that differ are healed."""
        known = self._goal.fingerprint
        wanted = _most_common(found.values()) if known is None else known
        odd = [seat for seat, value in found.items() if value != wanted]
        if odd and self._heals:
            goal = Goal(self._goal.updates, wanted)
            healed = self._everywhere(odd, lambda seat: seat.reopen(_disagreement(found, goal), goal))
            kept = {seat: value for seat, value in found.items() if seat not in odd}
            found = kept | _fingerprints(healed, is_enough=bool(kept))
        if len(values := set(found.values())) != 1 or wanted not in (None, *values):
            raise _disagreement(found, self._goal)
        return values.pop()


def _fingerprints(found: Mapping[Seat, int | BaseException], *, is_enough: bool = False) -> dict[Seat, int]:
    """Those of engines that work; raises what is more than the failure of places that others can do without."""
    values = {seat: value for seat, value in found.items() if not isinstance(value, BaseException)}
    for seat, value in found.items():
        if isinstance(value, BaseException) and not (seat.is_out and (values or is_enough)):
            raise value
    return values


def _most_common(values: Iterable[int]) -> int | None:
    """The value that more have than any other; None where there is no such value."""
    (first, most), *others = Counter(values).most_common(2)
    return None if others and others[0][1] == most else first


def _disagreement(found: Mapping[Seat, int], goal: Goal) -> EngineDisagreement:
    said: dict[int, list[str]] = {}
    for seat, value in found.items():
        said.setdefault(value, []).append(str(seat.number))
    each = "; ".join(f"{value:016x} on {', '.join(numbers)}" for value, numbers in said.items())
    wanted = "the same" if goal.fingerprint is None else f"{goal.fingerprint:016x}"
    return EngineDisagreement(
        f"expected {wanted} fingerprint on every engine after {len(goal.updates)} updates, got {each}; "
        "check models and memory, or add --heal, which opens engines that differ anew"
    )
