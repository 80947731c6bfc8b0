"""A world with a clock of its own, in which real threads run one at a time: scheduling code, unchanged, in no time.

Whoever runs has the baton and hands it on where it would block; when nobody can run, the clock jumps to the earliest
wake-up. Who is next is decided first in, first out, or by a seed: then threads also give way at every primitive and,
where that is asked for, between lines of the modules under test. So a schedule is repeated exactly by its seed. What
stands in for `threading`, `queue`, `time` and `Future` is in `virtual_primitives`.
"""

import heapq
import itertools
import random
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any


class DeadlockError(Exception):
    """Nobody can run and nobody is going to wake; the message says who waits for what."""


class WorldEndedError(BaseException):
    """Raised in threads that are still waiting when their world ends, so that they end as well."""


@dataclass(eq=False)
class Task:
    """One thread of the world.

    Attributes:
        name: For messages.
        baton: Held by everybody but the task that runs.
        awaits: What it waits for, for messages; empty while it can run.
        error: What to raise in it when it runs next.
        joining: Who waits for its end.
    """

    name: str
    baton: threading.Lock = field(default_factory=threading.Lock)
    awaits: str = ""
    error: BaseException | None = None
    is_over: bool = False
    joining: "deque[Wait]" = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.baton.acquire()


@dataclass(eq=False)
class Wait:
    """One wait of a task, which ends once: woken by somebody, or by the clock."""

    task: Task
    is_done: bool = False
    is_woken: bool = False


class World:
    """See the module. The thread that makes it is its first task, and the one that hears of a deadlock.

    Args:
        seed: Of the choice among those that can run; None for first in, first out, without giving way in between.
        files: Source files between whose lines threads give way as well; only with a seed.

    Attributes:
        now: Seconds since the world began.
        is_over: Nobody waits any more: all that would, ends.
        faults: What threads ended with, and nobody caught.
    """

    def __init__(self, seed: int | None = None, files: frozenset[str] = frozenset()) -> None:
        self.now = 0.0
        self.is_over = False
        self.faults: list[BaseException] = []
        self._rng = None if seed is None else random.Random(seed)
        self._files = files if seed is not None else frozenset()
        self._main = self._current = Task("main")
        self._tasks = [self._main]
        self._threads: list[threading.Thread] = []
        self._idle: list[threading.Lock] = []
        self._given: dict[threading.Lock, tuple[Task, Callable[[], object]]] = {}
        self._ready: deque[Task] = deque()
        self._sleeping: list[tuple[float, int, Wait]] = []
        self._numbers = itertools.count()

    @property
    def current(self) -> Task:
        """Who runs."""
        return self._current

    def sleep(self, seconds: float) -> None:
        """Let time pass for whoever runs."""
        self.wait(deque(), seconds, "sleep")

    def wait(self, waiting: deque[Wait], timeout: float | None, what: str) -> bool:
        """Wait in a queue until woken, or until the clock says so; whether it was woken.

        Raises:
            DeadlockError: In the first task, if nobody can ever run again.
            WorldEndedError: If the world is over.
        """
        if self.is_over:
            raise WorldEndedError
        wait = Wait(self._current)
        waiting.append(wait)
        if timeout is not None:
            heapq.heappush(self._sleeping, (self.now + max(0.0, timeout), next(self._numbers), wait))
        wait.task.awaits = what
        try:
            self._hand_over()
        finally:
            wait.task.awaits, wait.is_done = "", True
        return wait.is_woken

    def wake(self, waiting: deque[Wait]) -> bool:
        """Let the longest waiting of a queue run again; whether there was one."""
        while waiting:
            wait = waiting.popleft()
            if not wait.is_done:
                wait.is_done = wait.is_woken = True
                self._ready.append(wait.task)
                return True
        return False

    def pause(self) -> None:
        """Give way, if the world's choice is by a seed; primitives call it before they act."""
        if self._rng is not None and not self.is_over:
            self._ready.append(self._current)
            self._hand_over()

    def begin(self, act: Callable[[], object], name: str) -> Task:
        """Start a thread, a new one or one that has ended its task; it runs when its turn comes."""
        task = Task(name)
        if self._idle:
            task.baton = self._idle.pop()
        else:
            self._threads.append(threading.Thread(target=self._live, args=(task.baton,), name="virtual", daemon=True))
            self._threads[-1].start()
        self._given[task.baton] = task, act
        self._tasks.append(task)
        self._ready.append(task)
        return task

    def end(self) -> None:
        """End every thread that is left; called once, by the thread that made the world."""
        self.is_over = True
        while left := [task for task in self._tasks if task is not self._main and not task.is_over]:
            left[0].error = WorldEndedError()
            self._pass_to(left[0])
            self._main.baton.acquire()
        for baton in self._idle:
            baton.release()
        for thread in self._threads:
            thread.join()

    def tracer(self, frame: FrameType, event: str, arg: Any) -> Any:
        """For `sys.settrace`: gives way at about every fourth line of the files under test."""
        return self._trace_lines if frame.f_code.co_filename in self._files else None

    @property
    def traces(self) -> bool:
        """Whether threads give way between lines."""
        return bool(self._files)

    def _trace_lines(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line" and self._rng is not None and not self.is_over and self._rng.random() < 0.25:
            self.pause()
        return self._trace_lines

    def _hand_over(self) -> None:
        mine = self._current
        chosen = self._chosen()
        if chosen is not mine:
            self._pass_to(chosen)
            mine.baton.acquire()
        if mine.error is not None:
            error, mine.error = mine.error, None
            raise error

    def _pass_to(self, task: Task) -> None:
        self._current = task
        task.baton.release()

    def _chosen(self) -> Task:
        while not self._ready:
            if not self._sleeping:
                self._main.error = DeadlockError(self._told())
                return self._main
            self._jump()
        if self._rng is not None:
            self._ready.rotate(-self._rng.randrange(len(self._ready)))
        return self._ready.popleft()

    def _jump(self) -> None:
        """To the earliest wake-up: everybody due then can run. Who was woken before leaves the clock where it is."""
        while self._sleeping and self._sleeping[0][2].is_done:
            heapq.heappop(self._sleeping)
        if self._sleeping:
            self.now = self._sleeping[0][0]
        while self._sleeping and self._sleeping[0][0] == self.now:
            wait = heapq.heappop(self._sleeping)[2]
            if not wait.is_done:
                wait.is_done = True
                self._ready.append(wait.task)

    def _told(self) -> str:
        waiting = [f"{task.name} for {task.awaits}" for task in self._tasks if not task.is_over and task.awaits]
        return f"at {self.now:g} s nobody can run and nobody sleeps; waiting: {', '.join(waiting)}"

    def _live(self, baton: threading.Lock) -> None:
        """A real thread: does one task after the other, since starting a thread is dear; ends with the world."""
        while True:
            baton.acquire()
            if baton not in self._given:
                return
            task, act = self._given.pop(baton)
            try:
                if task.error is None:
                    act()
            except WorldEndedError:
                pass
            except BaseException as error:
                self.faults.append(error)
            task.is_over = True
            self._idle.append(baton)
            while self.wake(task.joining):
                pass
            self._pass_to(self._main if self.is_over else self._chosen())
