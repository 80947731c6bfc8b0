"""The outline of a TSPLIB 95 file: specifications (`KEYWORD : value`) and data sections, each with its line."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from coevo.errors import InstanceFileError
from coevo.problemkit.text_files import read_lines

HEADERS = frozenset(
    {"NAME", "TYPE", "COMMENT", "DIMENSION", "CAPACITY", "EDGE_WEIGHT_TYPE", "EDGE_WEIGHT_FORMAT", "NODE_COORD_TYPE",
     "DISPLAY_DATA_TYPE"}
)  # fmt: skip
"""Specifications that are known. Others, such as DISTANCE or VEHICLES, change the problem, so they are refused."""


@dataclass(frozen=True, slots=True)
class Header:
    """A specification: its value without surrounding white space, and its line."""

    value: str
    line: int


@dataclass(frozen=True, slots=True)
class Section:
    """A data section: its own line, and the words of each line of data with that line's number."""

    line: int
    rows: list[tuple[int, list[str]]] = field(default_factory=list)

    @property
    def last_line(self) -> int:
        """The last line that belongs to it."""
        return self.rows[-1][0] if self.rows else self.line

    def words(self) -> Iterator[tuple[int, str]]:
        """Every word with its line, for data whose line ends mean nothing."""
        return ((line, word) for line, words in self.rows for word in words)


@dataclass(frozen=True, slots=True)
class Outline:
    """A file taken apart; `headers` and `sections` by keyword, `last_line` the last with anything in it."""

    file: Path
    headers: dict[str, Header]
    sections: dict[str, Section]
    last_line: int

    def header(self, keyword: str, why: str = "") -> Header:
        """A specification that has to be there.

        Raises:
            InstanceFileError: If it is missing or empty.
        """
        found = self.headers.get(keyword)
        if found is None or not found.value:
            got = "none" if found is None else "nothing after the keyword"
            raise InstanceFileError(self.file, found.line if found else None, f"expected {keyword}{why}, got {got}")
        return found

    def choice(self, keyword: str, known: Collection[str], why: str = "") -> str:
        """The first word of a specification that has to be one of `known`; remarks may follow it.

        Raises:
            InstanceFileError: If it is missing or another; the message lists those known.
        """
        found = self.header(keyword, why)
        word = found.value.split()[0]
        if word not in known:
            message = f"expected {keyword} to be one of {', '.join(known)}, got {word!r:.60}"
            raise InstanceFileError(self.file, found.line, message)
        return word

    def section(self, keyword: str, why: str = "") -> Section:
        """A section that has to be there.

        Raises:
            InstanceFileError: If it is missing.
        """
        if keyword not in self.sections:
            raise InstanceFileError(self.file, self.last_line, f"expected {keyword}{why}, got the end of the file")
        return self.sections[keyword]


def read_outline(file: Path, sections: Collection[str]) -> Outline:
    """Take a file apart. The line EOF ends it, and may be missing; empty lines and those that begin with # are skipped.

    Args:
        file: The file.
        sections: Keywords of the sections that may occur.

    Raises:
        InstanceFileError: If a keyword is unknown or comes twice, or a line is neither keyword nor data.
    """
    outline, current = Outline(file, {}, {}, 0), None
    number = 0
    for line, text in enumerate(read_lines(file), 1):
        words = text.split()
        if not words or words[0].startswith("#"):
            continue
        number = line
        if words[0].rstrip(":") == "EOF":
            break
        if not words[0][0].isalpha():
            if current is None:
                raise InstanceFileError(file, line, f"expected a keyword, got {text.strip()!r:.60}")
            current.rows.append((line, words))
            continue
        current = _keyword(outline, text, line, sections)
    return Outline(file, outline.headers, outline.sections, number)


def _keyword(outline: Outline, text: str, line: int, sections: Collection[str]) -> Section | None:
    """Note down a header, or open a section and return it."""
    keyword, value = _split(text)
    known = HEADERS | set(sections)
    if keyword not in known:
        message = f"expected a keyword ({', '.join(sorted(known))}) or a number, got {text.strip()!r:.60}"
        raise InstanceFileError(outline.file, line, message)
    if keyword in outline.sections or (keyword in outline.headers and keyword != "COMMENT"):
        raise InstanceFileError(outline.file, line, f"expected {keyword} once, got it again")
    if keyword in HEADERS:
        outline.headers[keyword] = Header(value, line)
        return None
    section = outline.sections[keyword] = Section(line)
    if words := value.split():
        section.rows.append((line, words))
    return section


def _split(text: str) -> tuple[str, str]:
    """Keyword and value of a line, whether a colon, white space or both are between them."""
    keyword = re.split(r"[\s:]", text.strip(), maxsplit=1)[0]
    return keyword, text.strip()[len(keyword) :].lstrip().removeprefix(":").strip()
