"""What stands in for `threading`, `queue`, `time` and `Future` in a virtual world, and how it is put in place."""

import queue
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent import futures
from contextlib import contextmanager
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any

from virtual_world import Task, Wait, World


class VirtualLock:
    """As `threading.Lock`, or as `RLock` where whoever holds it may take it again."""

    def __init__(self, world: World, *, is_reentrant: bool = False) -> None:
        self.world = world
        self._is_reentrant = is_reentrant
        self._owner: Task | None = None
        self._depth = 0
        self._waiting: deque[Wait] = deque()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """See `threading.Lock`; in a world that is over everybody gets it."""
        self.world.pause()
        while self._depth and not self.world.is_over and not (self._is_reentrant and self.is_mine):
            if not blocking or not self.world.wait(self._waiting, None if timeout < 0 else timeout, "a lock"):
                return False
        self._owner = self.world.current
        self._depth += 1
        return True

    def release(self) -> None:
        """See `threading.Lock`."""
        if self.world.is_over:
            return
        if not self._depth or (self._is_reentrant and not self.is_mine):
            raise RuntimeError("released a lock that was not held")
        self._depth -= 1
        if not self._depth:
            self._owner = None
            self.world.wake(self._waiting)

    def locked(self) -> bool:
        """Whether anybody holds it."""
        return self._depth > 0

    @property
    def is_mine(self) -> bool:
        """Whether whoever runs holds it."""
        return self._depth > 0 and self._owner is self.world.current

    def let_go(self) -> int:
        """Release it wholly; how often it had been taken."""
        depth, self._depth, self._owner = self._depth, 0, None
        self.world.wake(self._waiting)
        return depth

    def take_back(self, depth: int) -> None:
        """Undo `let_go`."""
        self.acquire()
        self._depth = depth

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class VirtualCondition:
    """As `threading.Condition`."""

    def __init__(self, world: World, lock: VirtualLock | None = None) -> None:
        self._lock = lock or VirtualLock(world, is_reentrant=True)
        self._waiting: deque[Wait] = deque()
        self.acquire, self.release = self._lock.acquire, self._lock.release

    def wait(self, timeout: float | None = None) -> bool:
        """See `threading.Condition`."""
        self._check()
        depth = self._lock.let_go()
        try:
            return self._lock.world.wait(self._waiting, timeout, "a condition")
        finally:
            self._lock.take_back(depth)

    def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> Any:
        """See `threading.Condition`."""
        world = self._lock.world
        end = None if timeout is None else world.now + timeout
        while not (found := predicate()):
            if end is not None and world.now >= end:
                break
            self.wait(None if end is None else end - world.now)
        return found

    def notify(self, n: int = 1) -> None:
        """See `threading.Condition`."""
        self._check()
        for _ in range(n):
            self._lock.world.wake(self._waiting)

    def notify_all(self) -> None:
        """See `threading.Condition`."""
        self.notify(len(self._waiting))

    def _check(self) -> None:
        if not self._lock.is_mine and not self._lock.world.is_over:
            raise RuntimeError("used a condition whose lock was not held")

    def __enter__(self) -> bool:
        return self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class VirtualEvent:
    """As `threading.Event`."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._is_set = False
        self._waiting: deque[Wait] = deque()

    def is_set(self) -> bool:
        """See `threading.Event`."""
        self._world.pause()
        return self._is_set

    def set(self) -> None:
        """See `threading.Event`."""
        self._world.pause()
        self._is_set = True
        while self._world.wake(self._waiting):
            pass

    def clear(self) -> None:
        """See `threading.Event`."""
        self._is_set = False

    def wait(self, timeout: float | None = None) -> bool:
        """See `threading.Event`."""
        self._world.pause()
        return self._is_set or self._world.wait(self._waiting, timeout, "an event")


class VirtualQueue:
    """As `queue.SimpleQueue`."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._items: deque[Any] = deque()
        self._waiting: deque[Wait] = deque()

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """See `queue.SimpleQueue`."""
        self._world.pause()
        self._items.append(item)
        self._world.wake(self._waiting)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """See `queue.SimpleQueue`; an item that somebody else took first is waited for once more."""
        self._world.pause()
        while not self._items:
            if not block or not self._world.wait(self._waiting, timeout, "a queue"):
                raise queue.Empty
        return self._items.popleft()

    def qsize(self) -> int:
        """See `queue.SimpleQueue`."""
        return len(self._items)

    def empty(self) -> bool:
        """See `queue.SimpleQueue`."""
        return not self._items


class VirtualThread:
    """As `threading.Thread`; every one is a daemon, and ends with its world."""

    def __init__(
        self,
        world: World,
        *,
        target: Callable[..., object],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        name: str = "thread",
        daemon: bool = True,
    ) -> None:
        self._world = world
        self._act = partial(target, *args, **(kwargs or {}))
        self.name = name
        self._task: Task | None = None

    def start(self) -> None:
        """See `threading.Thread`."""
        if self._task is not None:
            raise RuntimeError("started a thread twice")
        self._task = self._world.begin(self._run, self.name)
        self._world.pause()

    def join(self, timeout: float | None = None) -> None:
        """See `threading.Thread`."""
        self._world.pause()
        if self._task is None:
            raise RuntimeError("joined a thread before it was started")
        if not self._task.is_over:
            self._world.wait(self._task.joining, timeout, f"the end of {self.name}")

    def is_alive(self) -> bool:
        """See `threading.Thread`."""
        return self._task is not None and not self._task.is_over

    def _run(self) -> None:
        if self._world.traces:
            sys.settrace(self._world.tracer)
        self._act()


class VirtualFuture(futures.Future[Any]):
    """The real future, around a virtual condition."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._condition = VirtualCondition(world)


def _stand_ins(world: World) -> dict[str, tuple[object, object]]:
    """Name in a module -> what it means there, and what it is to mean in the world."""
    kinds = {
        "Thread": partial(VirtualThread, world),
        "Lock": partial(VirtualLock, world),
        "RLock": partial(VirtualLock, world, is_reentrant=True),
        "Condition": partial(VirtualCondition, world),
        "Event": partial(VirtualEvent, world),
    }
    clock = SimpleNamespace(
        monotonic=lambda: world.now, perf_counter=lambda: world.now, time=lambda: world.now, sleep=world.sleep
    )
    return {
        "threading": (threading, SimpleNamespace(**kinds)),
        "queue": (queue, SimpleNamespace(SimpleQueue=partial(VirtualQueue, world), Empty=queue.Empty)),
        "time": (time, clock),
        "Future": (futures.Future, partial(VirtualFuture, world)),
    }


@contextmanager
def virtual_world(*modules: ModuleType, seed: int | None = None, traces: bool = False) -> Iterator[World]:
    """A world in which these modules find virtual threads, queues, clocks and futures, until the block ends.

    Names that a module does not import stay missing, and what the stand-ins lack is an `AttributeError`.

    Args:
        modules: Whose `threading`, `queue`, `time` and `Future` are replaced.
        seed: Of the schedule; None for first in, first out.
        traces: Whether threads also give way between lines of these modules; needs a seed.

    Raises:
        BaseException: The first error that a thread of the world died of.
    """
    files = frozenset(str(module.__file__) for module in modules) if traces else frozenset()
    world = World(seed, files)
    replaced = [
        (module, name, real, virtual)
        for module in modules
        for name, (real, virtual) in _stand_ins(world).items()
        if getattr(module, name, None) is real
    ]
    before = sys.gettrace()
    for module, name, _, virtual in replaced:
        setattr(module, name, virtual)
    try:
        if world.traces:
            sys.settrace(world.tracer)
        yield world
    finally:
        if world.traces:
            sys.settrace(before)
        world.end()
        for module, name, real, _ in replaced:
            setattr(module, name, real)
    if world.faults:
        raise world.faults[0]
