"""Draw a generated document as a PNG, in the typeface that Pillow brings: no font of the machine is looked for."""

import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from coevo.environments.docvqa.layout import Document, Line, Table
from coevo.errors import ExtraMissingError

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont

_WIDTH = 1100
_MARGIN = 70
_LETTERS = 26
"""Pixels; at 150 dots an inch about 12 points, which OCR reads well."""
_LEADING = 1.5
_DOTS_PER_INCH = 150
_PAPER, _INK = 255, 0


def draw(document: Document) -> bytes:
    """The page as a grey PNG of 1,100 pixels width, as tall as it needs.

    The same document and version of Pillow give the same bytes.

    Raises:
        ExtraMissingError: Without Pillow.
    """
    try:
        from PIL import Image, ImageDraw
    except ImportError:
        raise ExtraMissingError("pillow", "agents", "drawing documents") from None
    height = 2 * _MARGIN + sum(_height(block) for block in document.blocks)
    image = Image.new("L", (_WIDTH, height), _PAPER)
    pen = _Pen(ImageDraw.Draw(image))
    y = _MARGIN
    for block in document.blocks:
        pen.put(block, y)
        y += _height(block)
    file = io.BytesIO()
    image.save(file, "PNG", dpi=(_DOTS_PER_INCH, _DOTS_PER_INCH))
    return file.getvalue()


def _height(block: Line | Table) -> int:
    rows = block.size if isinstance(block, Line) else len(block.rows) + 1.5
    return round(_LETTERS * _LEADING * rows)


@dataclass(frozen=True, slots=True)
class _Pen:
    paper: "ImageDraw"
    fonts: dict[float, "FreeTypeFont"] = field(default_factory=dict)

    def put(self, block: Line | Table, y: int) -> None:
        if isinstance(block, Line):
            self._put_line(block, y)
        else:
            self._put_table(block, y)

    def _put_line(self, line: Line, y: int) -> None:
        font = self._font(line.size)
        free = _WIDTH - 2 * _MARGIN - round(font.getlength(line.text))
        x = _MARGIN + {"left": 0, "centre": free // 2, "right": free}[line.align]
        self.paper.text((x, y), line.text, fill=_INK, font=font)

    def _put_table(self, table: Table, y: int) -> None:
        """The first column to the left and twice as wide as each other, which stand to the right."""
        font = self._font(1.0)
        column = (_WIDTH - 2 * _MARGIN) / (len(table.header) + 1)
        leading = round(_LETTERS * _LEADING)
        for number, row in enumerate((table.header, *table.rows)):
            top = y + number * leading + (leading // 2 if number else 0)
            self.paper.text((_MARGIN, top), row[0], fill=_INK, font=font)
            for place, cell in enumerate(row[1:], 3):
                x = _MARGIN + round(place * column - font.getlength(cell))
                self.paper.text((x, top), cell, fill=_INK, font=font)
        rule = y + round(1.2 * leading)
        self.paper.line(((_MARGIN, rule), (_WIDTH - _MARGIN, rule)), fill=_INK, width=2)

    def _font(self, size: float) -> "FreeTypeFont":
        """Unpacked once for a page: fonts are not for more than one thread at a time."""
        from PIL import ImageFont

        if size not in self.fonts:
            self.fonts[size] = ImageFont.load_default(round(_LETTERS * size))  # type: ignore[assignment]
        return self.fonts[size]
