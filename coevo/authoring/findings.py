"""What a check says: a status and one sentence."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

Status = Literal["ok", "failed", "skipped", "note"]
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check.

    Attributes:
        status: "ok", "failed", "skipped" (nothing to look at, or it needs a check that failed), or "note" for what is
            worth knowing and breaks nothing.
        text: One sentence: what was looked at, or what is wrong and what to do.
    """

    status: Status
    text: str


@dataclass(frozen=True, slots=True)
class Check(Generic[S]):
    """One check of a problem folder.

    Attributes:
        name: Unique among all checks.
        description: One line: what holds when it is ok.
        run: The check; whatever it raises is a failure of the problem's.
        needs: Names of checks without which this one says nothing.
    """

    name: str
    description: str
    run: Callable[[S], Finding]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """A check and what it found, as it is reported."""

    check: str
    description: str
    status: Status
    text: str


def ok(text: str) -> Finding:
    """It holds."""
    return Finding("ok", text)


def failed(text: str) -> Finding:
    """It does not hold, and the folder has to be changed."""
    return Finding("failed", text)


def skipped(text: str) -> Finding:
    """There is nothing to look at."""
    return Finding("skipped", text)


def note(text: str) -> Finding:
    """Worth knowing; breaks nothing."""
    return Finding("note", text)
