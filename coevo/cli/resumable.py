"""How a job that can be gone on with is stopped: by an interrupt or SIGTERM, and what is said then."""

import shlex
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import typer

from coevo.cli.apart import prints_apart
from coevo.records.event_log import Event, Listener


class Whereabouts:
    """Where the job's run is, which is known as soon as its log is open."""

    def __init__(self) -> None:
        self.run = ""

    def told_by(self, listener: Listener) -> Listener:
        """The listener, which also learns where the run is."""
        return _Learning(self, listener)


class _Learning:
    """See `Follower`."""

    def __init__(self, whereabouts: Whereabouts, listener: Listener) -> None:
        self._whereabouts = whereabouts
        self._listener = listener

    def __call__(self, event: Event) -> None:
        self._listener(event)

    def begin(self, path: Path, recorded: tuple[Event, ...]) -> None:
        """See `Follower`."""
        self._whereabouts.run = str(path.parent)

    def end(self) -> None:
        """See `Follower`."""


@contextmanager
def resumable() -> Iterator[Whereabouts]:
    """While the block runs, SIGTERM ends it as an interrupt does: the run is closed, and how to go on is said.

    A scheduler and `timeout` send SIGTERM, and it reaches a job whose shell has told it to ignore interrupts. A second
    signal may come while the run is being closed: then it is left as it is, and can be gone on with all the same. What
    the job's own code prints goes to standard error.

    Raises:
        typer.Exit: With 130 after either.
    """
    whereabouts = Whereabouts()
    try:
        with _terminated_as_interrupted(), prints_apart():
            yield whereabouts
    except KeyboardInterrupt as interrupt:
        with _undisturbed():
            if run := str(interrupt.args[0]) if interrupt.args else whereabouts.run:
                typer.echo(f"coevo: interrupted; go on with: coevo resume {shlex.quote(run)}", err=True)
        raise typer.Exit(130) from None


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Signals are for the main thread alone to handle; elsewhere nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """While the block runs, another interrupt has no effect: the job is stopping already."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
