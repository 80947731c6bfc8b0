"""What is said while a list of checks is worked through: on standard error, so that findings stand alone."""

import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import TypeVar

import typer

T = TypeVar("T")
Begin = Callable[[str], None]
"""Told the name of each check before it is run."""


def attended(examine: Callable[[Begin], Generator[T, None, None]], *, in_lines: bool) -> Iterator[T]:
    """The findings as they are made; on a terminal, what is being checked stands there meanwhile.

    Args:
        examine: Works through the checks; it is closed also where its findings are not read to their end.
        in_lines: Whether each beginning is said on a line of its own where there is no terminal.
    """
    from rich.console import Console

    console = Console(file=sys.stderr)
    if not console.is_terminal:
        with closing(examine(_say if in_lines else _ignore)) as findings:
            yield from findings
        return
    with (
        console.status("") as status,
        closing(examine(lambda name: status.update(f"checking {name} …"))) as findings,
    ):
        for finding in findings:
            status.stop()
            yield finding
            status.start()


def _say(name: str) -> None:
    typer.echo(f"checking {name} …", err=True)


def _ignore(_: str) -> None:
    return
