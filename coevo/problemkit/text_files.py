"""Text files of a user's, read so that whatever is wrong with them is said with the line it is in."""

import re
from pathlib import Path

from coevo.errors import InstanceFileError

LARGEST = 1e12
"""Largest number accepted: sums over thousands of nodes stay exact, and nothing overflows."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NOT_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")


def read_lines(file: Path) -> list[str]:
    """The lines of a text file, without their ends (LF, CRLF or CR); bytes that are no UTF-8 are read as Latin-1.

    Raises:
        InstanceFileError: If it is no regular file, cannot be read, is empty, or has characters that no text has.
    """
    try:
        if not file.is_file():
            raise InstanceFileError(file, None, f"expected a file, got {'a folder' if file.is_dir() else 'none'}")
        content = file.read_bytes()
    except (OSError, ValueError) as error:
        raise InstanceFileError(file, None, f"expected a readable file, got {error}") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    lines = re.split(r"\r\n|\n|\r", text)
    for number, line in enumerate(lines, 1):
        if _NOT_TEXT.search(line):
            raise InstanceFileError(file, number, "expected text, got binary data")
    if not text.strip():
        raise InstanceFileError(file, None, "expected text, got an empty file")
    return lines


def to_number(word: str, file: Path, line: int, what: str) -> float:
    """The number that a word stands for, decimal or scientific.

    Args:
        word: Without white space.
        file: Where it stands, for the message.
        line: Where it stands, for the message.
        what: What is expected there, such as "a coordinate".

    Raises:
        InstanceFileError: If the word is no number, or one beyond ±`LARGEST`.
    """
    if not _NUMBER.fullmatch(word):
        raise InstanceFileError(file, line, f"expected {what}, got {word!r:.60}")
    number = float(word)
    if abs(number) > LARGEST:
        raise InstanceFileError(file, line, f"expected {what} of at most {LARGEST:g} in size, got {word!r:.60}")
    return number


def to_whole(word: str, file: Path, line: int, what: str) -> int:
    """The whole number that a word stands for; `7`, `7.0` and `7e0` are the same. See `to_number`."""
    number = to_number(word, file, line, what)
    if not number.is_integer():
        raise InstanceFileError(file, line, f"expected {what} that is whole, got {word!r:.60}")
    return int(number)
