"""Engines without a model that fail when told to, and fleets of them."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from coevo.engines.fleet.engine import FleetEngine
from coevo.engines.scripted import ScriptedEngine
from coevo.interfaces import Completion, Member, Request, Update

GENEROUS_S = 60.0


class Fake:
    """Answers with what it was asked and the weights it has; fails by `Place.failures`, forgets by `Place.forgets`."""

    def __init__(self, place: "Place") -> None:
        self._place = place
        self._weights = ScriptedEngine(["unused"])
        self.is_closed = False

    def generate(self, requests: Sequence[Request]) -> Iterator[Completion]:
        """Answers in order, up to the next failure of its place."""
        self._place.calls.append([request.id for request in requests])
        after, error = next(self._place.failures, (None, None))
        for number, request in enumerate(requests):
            if number == after:
                raise error
            self._place.before(request)
            yield Completion(request.id, said(request, self.fingerprint()), "stop", 1)
        if after is not None and after >= len(requests):
            raise error

    def commit(self, update: Update) -> int:
        """Moves the weights, unless its place forgets it this time."""
        error = next(self._place.commit_failures, None)
        if error is not None:
            raise error
        if not next(self._place.forgets, False):
            self._weights.commit(update)
        return self.fingerprint()

    def fingerprint(self) -> int:
        """Of the weights as they are."""
        if self.is_closed:
            raise RuntimeError("asked after it was closed")
        return self._weights.fingerprint()

    def export(self, folder: Any) -> None:
        """As of the scripted engine, unless its place cannot write."""
        if self._place.cannot_write is not None:
            raise self._place.cannot_write
        self._weights.export(folder)

    def close(self) -> None:
        """Wakes whoever blocks in it."""
        self.is_closed = True
        self._place.closed.set()


@dataclass
class Place:
    """What happens to the engines of one place, in order: each failure is used up once.

    `failures` are (answers given before it, error) for the calls of `generate`, `commit_failures` and `forgets` for
    those of `commit`.
    """

    failures: Iterator[tuple[int, BaseException]] = field(default_factory=lambda: iter(()))
    commit_failures: Iterator[BaseException | None] = field(default_factory=lambda: iter(()))
    forgets: Iterator[bool] = field(default_factory=lambda: iter(()))
    cannot_write: BaseException | None = None
    open_failures: Iterator[BaseException | None] = field(default_factory=lambda: iter(()))
    before: Callable[[Request], None] = lambda request: None
    opened: list[Fake] = field(default_factory=list)
    calls: list[list[str]] = field(default_factory=list)
    closed: threading.Event = field(default_factory=threading.Event)

    def open(self) -> Fake:
        """Another engine."""
        error = next(self.open_failures, None)
        if error is not None:
            raise error
        self.opened.append(Fake(self))
        return self.opened[-1]


def said(request: Request, fingerprint: int) -> str:
    """What a fake with these weights answers."""
    member = request.member.identity if request.member else "base"
    return f"{request.text} under {request.seed} by {member} of {fingerprint:016x}"


@pytest.fixture(scope="session")
def until() -> Callable[[Callable[[], bool]], None]:
    """Waits for a condition, with a generous limit."""

    def wait(condition: Callable[[], bool]) -> None:
        end = time.monotonic() + GENEROUS_S
        while not condition():
            assert time.monotonic() < end, "waited in vain"
            time.sleep(0.001)

    return wait


@pytest.fixture(scope="session")
def places() -> Callable[..., list[Place]]:
    """Makes places without failures."""
    return lambda count: [Place() for _ in range(count)]


@pytest.fixture
def fleet_of() -> Iterator[Callable[..., FleetEngine]]:
    """Makes a fleet of fakes on these places; at the end no engine of it is open and no thread of it runs."""
    made: list[tuple[FleetEngine, Sequence[Place]]] = []

    def make(places: Sequence[Place], **options: Any) -> FleetEngine:
        made.append((FleetEngine([place.open for place in places], **options), places))
        return made[-1][0]

    yield make
    for fleet, places in made:
        fleet.close()
        assert all(fake.is_closed for place in places for fake in place.opened)
    assert not [thread for thread in threading.enumerate() if thread.name == "coevo-engine"]


@pytest.fixture
def updates() -> list[Update]:
    """Three steps of one run."""
    return [Update(77, step, (0, 1), (0.01, -0.02 * step)) for step in range(3)]


@pytest.fixture(scope="session")
def asked() -> Callable[..., list[Request]]:
    """Makes requests, dealt round-robin to so many dense members, the base (first) not counted."""

    def make(count: int, members: int = 3, rank: int = 0) -> list[Request]:
        dealt = [None, *(Member(77, 0, number, 1, 0.01, rank=rank) for number in range(members))]
        return [Request(f"r{n}", f"prompt {n}", 1000 + n, dealt[n % len(dealt)]) for n in range(count)]

    return make
