"""The board codec: what the Sudoku environment tells an agent, as the compact text that the embedded player reads.

The player has one token for every content of every cell. So the drawing under "Current board" becomes 81 words such as
`r3c5=7 ` and `r3c6=. `, in row-major order, and `move: ` behind them; rules, feedback and the original puzzle are left
out. Its answer needs no decoding: its tokens spell the environment's own action, `set 3 6 ` and `4`.

Nothing is worked out for the player: the text says which digit stands in which cell, and no more.
"""

import re
from collections.abc import Sequence

from coevo.interfaces import Message

MOVE_WORD = "move: "
CELLS = tuple((row, column) for row in range(1, 10) for column in range(1, 10))
"""Row and column of each cell, from 1, in row-major order."""

_TITLE = "Current board"
_ROW = re.compile(r"^r([1-9])((?:\s*\|?\s*[1-9.]){9})\s*$")


def encode(messages: Sequence[Message]) -> str:
    """The prompt for one move.

    Args:
        messages: What the environment has told the agent; the last message of the user is read.

    Raises:
        ValueError: If it has no drawing of nine rows under "Current board".
    """
    last = next((message.content for message in reversed(messages) if message.role == "user"), "")
    return "".join(map(cell_word, CELLS, read_board(last))) + MOVE_WORD


def read_board(text: str) -> str:
    """The contents of the current board in a message, 81 characters in row-major order, a dot for a blank.

    Raises:
        ValueError: If there is no such drawing.
    """
    _, title, drawing = text.rpartition(_TITLE)
    rows = [found for line in drawing.split("\n") if (found := _ROW.match(line))]
    if not title or [row[1] for row in rows] != list("123456789"):
        raise ValueError(
            f"expected a drawing of rows r1 to r9 under {_TITLE!r} (the Sudoku environment), got {text[-90:]!r}"
        )
    return "".join(re.sub(r"[\s|]", "", row[2]) for row in rows)


def cell_word(cell: tuple[int, int], content: str) -> str:
    """What the text says of a cell: its row, its column, and its digit or a dot."""
    return f"r{cell[0]}c{cell[1]}={content} "


def action_words(cell: tuple[int, int], digit: int) -> tuple[str, str]:
    """The two words of an answer; together they are the environment's action."""
    return f"set {cell[0]} {cell[1]} ", str(digit)
