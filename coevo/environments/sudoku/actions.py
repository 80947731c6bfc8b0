"""What an answer says: row, column and digit, found in whatever text a model writes.

In this order: the first `{…}` as JSON with row, col, value (or r, c, v); then every line that names a verb, then the
whole text, each searched for `r#c#` with a number behind it, else for its first three standalone digits. Whatever else
the text says is ignored.

Source: the action parser of Agentic-ESOpt's Sudoku task, as described; never raises, and takes time linear in the text.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_VERB = re.compile(r"set|fill|place|action", re.IGNORECASE)
_CELL = re.compile(r"(?<!\w)r([0-9]{1,3})\s{0,9}c([0-9]{1,3})[^0-9\n]{1,40}(?<!\w)([0-9]{1,3})(?!\w)", re.IGNORECASE)
_DIGIT = re.compile(r"(?<!\w)[1-9](?!\w)")
_KEYS = (("row", "col", "value"), ("r", "c", "v"))


class Action(NamedTuple):
    """Write a digit into a cell; rows and columns from 1. The numbers may be out of range."""

    row: int
    column: int
    digit: int

    @property
    def is_in_range(self) -> bool:
        """Whether there is such a cell and such a digit."""
        return all(1 <= number <= 9 for number in self)


def read_action(text: str) -> Action | None:
    """The action that a text asks for, or None if it asks for none."""
    found = _from_json(text)
    if found is not None:
        return found
    return next((action for part in _parts(text) if (action := _from_words(part)) is not None), None)


def _parts(text: str) -> Iterator[str]:
    yield from (line for line in text.splitlines() if _VERB.search(line))
    yield text


def _from_words(text: str) -> Action | None:
    if cell := _CELL.search(text):
        return Action(*(int(number) for number in cell.groups()))
    digits = [int(found[0]) for found, _ in zip(_DIGIT.finditer(text), range(3), strict=False)]
    return Action(*digits) if len(digits) == 3 else None


def _from_json(text: str) -> Action | None:
    start = text.find("{")
    end = text.find("}", start)
    if start < 0 or end < 0:
        return None
    try:
        values = json.loads(text[start : end + 1])
    except (ValueError, RecursionError):
        return None
    for keys in _KEYS:
        numbers = [_whole(values.get(key)) for key in keys]
        if None not in numbers:
            return Action(*(number for number in numbers if number is not None))
    return None


def _whole(value: Any) -> int | None:
    """A whole number, written as one or as text of a few digits."""
    if isinstance(value, str) and re.fullmatch(r"\s*[0-9]{1,3}\s*", value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
