"""How a job that can be gone on with is stopped: by an interrupt or SIGTERM, and what is said then."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import typer


@contextmanager
def resumable() -> Iterator[None]:
    """While the block runs, SIGTERM ends it as an interrupt does: the run is closed, and how to go on is said.

    A scheduler and `timeout` send SIGTERM, and it reaches a job whose shell has told it to ignore interrupts.

    Raises:
        typer.Exit: With 130 after either.
    """
    try:
        with _terminated_as_interrupted():
            yield
    except KeyboardInterrupt as interrupt:
        if interrupt.args:
            typer.echo(f"coevo: interrupted; go on with: coevo resume {interrupt.args[0]}", err=True)
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


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
