"""How numbers and foreign text are shown."""

import re
import unicodedata

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories of what has no picture of its own: controls, format and bidirectional marks, surrogates, …"""

_ODD = re.compile(r"[^\x20-\x7e\n\t]")

DASH = "–"
"""Stands where there is no value."""


def visible(text: str) -> str:
    """Text in which every character that cannot be seen is written as an escape; newlines and tabs stay.

    Directional overrides would show code in another order than it runs, and a lone surrogate is no character at all.
    """
    return _ODD.sub(_seen, text)


def _seen(match: re.Match[str]) -> str:
    character = match[0]
    if unicodedata.category(character) not in _UNSEEN:
        return character
    return character.encode("unicode_escape").decode("ascii")


def number(value: float | None, digits: int = 6) -> str:
    """A number with so many significant digits and a real minus sign; a dash for None."""
    if value is None:
        return DASH
    return f"{value + 0.0:.{digits}g}".replace("-", "−")


def count(value: int) -> str:
    """A whole number, thousands separated."""
    return f"{value:,}"


def whole(value: float) -> str:
    """A value on an axis of whole numbers."""
    return count(round(value))


def percent(fraction: float | None, digits: int = 2) -> str:
    """A fraction in per cent; a dash for None."""
    if fraction is None:
        return DASH
    # Adding zero turns the negative zero that rounding can leave into the positive one.
    return f"{round(100 * fraction, digits) + 0.0:.{digits}f} %".replace("-", "−")


def duration(seconds: float) -> str:
    """A time in the unit that fits it."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{int(seconds // 60)} min {seconds % 60:.0f} s"
    return f"{int(seconds // 3600)} h {seconds % 3600 / 60:.0f} min"


def excerpt(text: str, limit: int) -> tuple[str, str]:
    """The beginning of a text, and a note on what was left out; the note is empty if nothing was."""
    if len(text) <= limit:
        return text, ""
    return text[:limit], f"{count(len(text) - limit)} more characters are not shown"
