"""What a generated document consists of, before it is drawn: its text, and questions whose answers are known."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text; an empty one leaves its height free.

    Attributes:
        text: Not wrapped.
        align: Where on the page it stands.
        size: Height of the letters, as a multiple of that of running text.
    """

    text: str = ""
    align: Literal["left", "right", "centre"] = "left"
    size: float = 1.0


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a rule below its header; every row has as many cells as the header."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a document.

    Attributes:
        text: What is asked.
        answers: The ways of writing the right answer; the first is as it stands on the page.
    """

    text: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """One page.

    Attributes:
        kind: What it is, such as "invoice".
        blocks: From top to bottom.
        questions: All that can be asked about it.
    """

    kind: str
    blocks: tuple[Line | Table, ...]
    questions: tuple[Question, ...]

    @property
    def text(self) -> str:
        """All that is written on the page, a row of a table on one line."""
        return "\n".join(line for block in self.blocks for line in _lines(block))


def _lines(block: Line | Table) -> tuple[str, ...]:
    if isinstance(block, Line):
        return (block.text,)
    return tuple("  ".join(row) for row in (block.header, *block.rows))
