"""Sudoku boards as values: complete grids drawn at random, cells blanked, solutions counted.

A board is a tuple of 81 digits in row-major order, 0 for a blank. A complete grid belongs to exactly one share (train,
val, test, corpus) by a hash of its digits: tasks of different splits, and what the embedded player was taught, can
never have a solution in common, whatever their number and seeds.

Source: the grid of Agentic-ESOpt's generator, value (3·(r mod 3) + r div 3 + c) mod 9 with bands, rows, stacks, columns
and digits shuffled; the shares and the check of uniqueness are ours.
"""

import random
from collections.abc import Sequence
from hashlib import blake2b
from typing import Literal, get_args

Board = tuple[int, ...]
Share = Literal["train", "val", "test", "corpus"]

SHARES: tuple[Share, ...] = get_args(Share)
CELLS, SIDE = 81, 9
_ALL = 0b1111111110


def _units() -> tuple[tuple[int, ...], ...]:
    rows = [tuple(9 * line + k for k in range(9)) for line in range(9)]
    columns = [tuple(9 * k + line for k in range(9)) for line in range(9)]
    boxes = [
        tuple(9 * (3 * band + k // 3) + 3 * stack + k % 3 for k in range(9)) for band in range(3) for stack in range(3)
    ]
    return (*rows, *columns, *boxes)


UNITS = _units()
"""The cells of the 9 rows, the 9 columns and the 9 boxes."""

PEERS = tuple(
    tuple(sorted({other for unit in UNITS if cell in unit for other in unit} - {cell})) for cell in range(CELLS)
)
"""The 20 cells that share a unit with each cell."""


def random_solution(rng: random.Random) -> Board:
    """A complete, valid grid.

    Args:
        rng: Advanced by ten shuffles: row bands and the rows of each, column stacks and the columns of each, digits.
    """
    rows, columns = _shuffled_lines(rng), _shuffled_lines(rng)
    digits = list(range(1, 10))
    rng.shuffle(digits)
    return tuple(digits[(3 * (r % 3) + r // 3 + c) % 9] for r in rows for c in columns)


def random_blanks(blanks: int, rng: random.Random) -> tuple[int, ...]:
    """Different cells, any set of that size equally likely: the first of one shuffle of all 81."""
    cells = list(range(CELLS))
    rng.shuffle(cells)
    return tuple(cells[:blanks])


def without(board: Board, cells: Sequence[int]) -> Board:
    """The board with these cells blank."""
    gone = set(cells)
    return tuple(0 if cell in gone else digit for cell, digit in enumerate(board))


def compact(board: Board) -> str:
    """81 characters in row-major order, a dot for a blank."""
    return "".join(str(digit) if digit else "." for digit in board)


def from_compact(text: str) -> Board:
    """The board of 81 characters, digits 1 to 9 and dots (or zeros) for blanks.

    Raises:
        ValueError: If the text is anything else.
    """
    if len(text) != CELLS or set(text) - set(".0123456789"):
        raise ValueError(f"expected {CELLS} characters of 1-9 and . for a blank, got {len(text)}: {text[:90]!r}")
    return tuple(0 if character == "." else int(character) for character in text)


def share_of(solution: Board) -> Share:
    """The one share that a complete grid belongs to, each as likely."""
    return SHARES[blake2b(bytes(solution), digest_size=8).digest()[0] % len(SHARES)]


def is_solved(board: Board) -> bool:
    """Whether every row, column and box holds each of the nine digits."""
    return all(len({board[cell] for cell in unit} - {0}) == SIDE for unit in UNITS)


def candidates(board: Board, cell: int) -> tuple[int, ...]:
    """The digits that no peer of a cell has, ascending."""
    taken = {board[peer] for peer in PEERS[cell]}
    return tuple(digit for digit in range(1, 10) if digit not in taken)


def solutions(board: Board, limit: int = 2) -> list[Board]:
    """The first few completions of a board.

    Args:
        board: Any board; one whose digits already clash has none.
        limit: Stop after this many: 2 tells whether a solution is unique.
    """
    if any(digit and digit in (board[peer] for peer in PEERS[cell]) for cell, digit in enumerate(board)):
        return []
    found: list[Board] = []
    _complete(list(board), [cell for cell in range(CELLS) if not board[cell]], limit, found)
    return found


def _complete(board: list[int], blanks: list[int], limit: int, found: list[Board]) -> None:
    """Depth-first, always in the blank with the fewest candidates."""
    if not blanks:
        found.append(tuple(board))
        return
    masks = {cell: _free(board, cell) for cell in blanks}
    cell = min(blanks, key=lambda blank: masks[blank].bit_count())
    rest = [other for other in blanks if other != cell]
    for digit in range(1, 10):
        if masks[cell] >> digit & 1 and len(found) < limit:
            board[cell] = digit
            _complete(board, rest, limit, found)
    board[cell] = 0


def _free(board: list[int], cell: int) -> int:
    taken = 0
    for peer in PEERS[cell]:
        taken |= 1 << board[peer]
    return _ALL & ~taken


def _shuffled_lines(rng: random.Random) -> list[int]:
    """Nine lines in a random order that keeps bands together; bands first, then the lines of each in turn."""
    bands, order = [0, 1, 2], []
    rng.shuffle(bands)
    for band in bands:
        lines = [0, 1, 2]
        rng.shuffle(lines)
        order += [3 * band + line for line in lines]
    return order
