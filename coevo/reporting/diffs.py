"""Differences between two texts, line by line, bounded in time and length."""

import difflib
from dataclasses import dataclass
from typing import Literal

MAX_LINES = 400
MAX_WIDTH = 400
"""Longest line in characters; the rest of it is left out."""


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a diff: added "+", removed "-", the same " ", or a mark between parts "@"."""

    kind: Literal["+", "-", " ", "@"]
    text: str


def diff(old: str, new: str) -> tuple[tuple[DiffLine, ...], str]:
    """What changed from one text to the other.

    Returns:
        The lines of a unified diff from its first part on, and a note: empty, or what was left out. Texts too long to
        be compared in reasonable time give no lines.
    """
    before, after = _lines(old), _lines(new)
    if max(len(before), len(after)) > MAX_LINES:
        return (), f"not compared: more than {MAX_LINES} lines"
    found = [_line(line) for line in difflib.unified_diff(before, after, n=3, lineterm="")][3:]
    widest = max((len(line) for line in (*before, *after)), default=0)
    return tuple(found), f"lines are cut after {MAX_WIDTH} characters" if widest > MAX_WIDTH else ""


def whole(text: str) -> tuple[tuple[DiffLine, ...], str]:
    """A text that has nothing to be compared with: every line is new."""
    lines = _lines(text)
    note = f"{len(lines) - MAX_LINES} more lines are not shown" if len(lines) > MAX_LINES else ""
    return tuple(DiffLine("+", line[:MAX_WIDTH]) for line in lines[:MAX_LINES]), note


def _lines(text: str) -> list[str]:
    """Lines as an editor counts them: only a newline ends one, whatever else Unicode would allow."""
    return text.removesuffix("\n").split("\n") if text else []


def _line(line: str) -> DiffLine:
    text = line[1:][:MAX_WIDTH]
    if line.startswith("+"):
        return DiffLine("+", text)
    if line.startswith("-"):
        return DiffLine("-", text)
    return DiffLine("@", "") if line.startswith("@@") else DiffLine(" ", text)
