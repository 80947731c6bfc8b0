"""Tables whose cells keep the exact number behind what is shown."""

from collections.abc import Iterable
from dataclasses import dataclass

from coevo.reporting.text import count, number, percent


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: what is shown and, for a number, its exact value."""

    text: str
    value: float | None = None
    is_code: bool = False

    @property
    def exact(self) -> str:
        """The value with every digit."""
        return repr(self.value)


@dataclass(frozen=True, slots=True)
class Table:
    """A table. The first cell of a row names it."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @property
    def numeric(self) -> tuple[bool, ...]:
        """For each column, whether it holds numbers."""
        return tuple(any(row[place].value is not None for row in self.rows) for place in range(len(self.heads)))


def table(caption: str, heads: Iterable[str], rows: Iterable[Iterable[Cell]]) -> Table:
    """A table from any rows."""
    return Table(caption, tuple(heads), tuple(tuple(row) for row in rows))


def words(text: str) -> Cell:
    """Plain text."""
    return Cell(text)


def code(text: str) -> Cell:
    """An identity or other literal."""
    return Cell(text, is_code=True)


def real(value: float | None, digits: int = 6) -> Cell:
    """A real number with so many significant digits."""
    return Cell(number(value, digits), value)


def whole(value: int) -> Cell:
    """A count."""
    return Cell(count(value), value)


def share(value: float | None) -> Cell:
    """A fraction, shown in per cent."""
    return Cell(percent(value), value)
