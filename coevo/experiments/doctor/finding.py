"""What a check says: a state, what was found, what to do next."""

from dataclasses import dataclass
from typing import Literal

State = Literal["pass", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check.

    Attributes:
        name: The check.
        state: "pass"; "warn" for what a run survives and its user should know; "fail" for what it would not survive.
        found: One sentence: what was looked at and what there is.
        advice: What to do next; empty where there is nothing to do.
    """

    name: str
    state: State
    found: str
    advice: str = ""


def passed(name: str, found: str) -> Finding:
    """All is well."""
    return Finding(name, "pass", found)


def warned(name: str, found: str, advice: str) -> Finding:
    """A run goes on, but not as its user may think."""
    return Finding(name, "warn", found, advice)


def failed(name: str, found: str, advice: str) -> Finding:
    """A run would not work, or not safely."""
    return Finding(name, "fail", found, advice)


def refused(name: str, error: BaseException, advice: str) -> Finding:
    """A failure out of an error; what the error itself advises, after its last semicolon, goes before `advice`."""
    found, semicolon, own = str(error).rpartition("; ")
    return failed(name, found, own) if semicolon else failed(name, str(error) or type(error).__name__, advice)
