"""Tables whose cells keep the exact number behind what is shown, and their HTML.

They are most of a page, and a template would take ten times as long for a cell.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from markupsafe import Markup, escape

from coevo.reporting.text import count, number, percent, visible


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

    @property
    def html(self) -> str:
        """What stands between the tags of the cell."""
        text = _escaped(self.text)
        if self.value is not None:
            return f'<data value="{escape(self.exact)}">{text}</data>'
        return f"<code>{text}</code>" if self.is_code else text.strip()


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

    @property
    def html(self) -> Markup:
        """The table in a box that scrolls; all text is made visible and escaped."""
        return Markup("\n".join(self._lines()))

    def _lines(self) -> Iterator[str]:
        caption = _escaped(self.caption)
        classes = [' class="n"' if numeric else "" for numeric in self.numeric]
        heads = [f'<th scope="col"{look}>{_escaped(head)}</th>' for head, look in zip(self.heads, classes, strict=True)]
        yield f'<div class="scroll" tabindex="0" role="region" aria-label="{caption}">'
        yield "<table>"
        yield f"<caption>{caption}</caption>"
        yield f"<thead><tr>{''.join(heads)}</tr></thead>"
        yield "<tbody>"
        for first, *others in self.rows:
            cells = [f"<td{look}>{cell.html}</td>" for cell, look in zip(others, classes[1:], strict=True)]
            yield f'<tr><th scope="row"{classes[0]}>{first.html}</th>{"".join(cells)}</tr>'
        yield "</tbody>"
        yield "</table>"
        yield "</div>"


def _escaped(text: str) -> str:
    return str(escape(visible(text)))


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
