"""What a problem's or an environment's own code prints is kept apart from what the command answers."""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout


@contextmanager
def prints_apart() -> Iterator[None]:
    """While the block runs, standard output is standard error, in this process and in those it starts.

    A command's answer, one JSON document perhaps, is alone on standard output: print it after the block.
    """
    with _descriptor_apart(), redirect_stdout(sys.stderr):
        yield


@contextmanager
def _descriptor_apart() -> Iterator[None]:
    """The same for what writes past Python: libraries in C, and programs that inherit the descriptor."""
    _flush()
    try:
        kept = os.dup(1)
    except OSError:  # the user has closed it
        yield
        return
    try:
        _point_to_standard_error()
        yield
    finally:
        _flush()
        ctypes.CDLL(None).fflush(None)
        os.dup2(kept, 1)
        os.close(kept)


def _point_to_standard_error() -> None:
    try:
        os.dup2(2, 1)
    except OSError:
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - a device, whose descriptor is wanted
            os.dup2(nowhere.fileno(), 1)


def _flush() -> None:
    for stream in (sys.stdout, sys.__stdout__):
        if stream is not None:
            stream.flush()
