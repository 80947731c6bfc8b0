"""What the agent is told: one message that says everything, since no earlier turn is shown."""

from functools import cache
from pathlib import Path

from coevo.content import read_text
from coevo.interfaces import Message
from coevo.prompt_files import fill
from coevo.sudoku_boards import CELLS, Board

PROMPT_FILE = Path(__file__).with_name("prompt.md")
_HEADER = "    c1 c2 c3 | c4 c5 c6 | c7 c8 c9"
_RULER = "    ---------+----------+---------"


def draw(board: Board) -> str:
    """The board with coordinates in twelve lines: a dot for a blank, bars and dashes between the boxes."""
    rows = [_row(row, board[9 * row : 9 * row + 9]) for row in range(9)]
    return "\n".join([_HEADER, *rows[:3], _RULER, *rows[3:6], _RULER, *rows[6:]])


def tell(puzzle: Board, board: Board, turn: int, feedback: str) -> Message:
    """The whole of a turn's prompt.

    Args:
        puzzle: The board as it was given.
        board: The board as it is.
        turn: Of the turn that is to come, from 1.
        feedback: Why the last action was refused; empty if it was not.
    """
    blanks = puzzle.count(0)
    values = {
        "feedback": f"\nYour last answer changed nothing: {feedback}\n" if feedback else "",
        "blanks": str(blanks),
        "original": draw(puzzle),
        "turn": str(turn),
        "turns": str(turn_limit(puzzle)),
        "remaining": str(board.count(0)),
        "current": draw(board),
        "cells": ", ".join(f"r{cell // 9 + 1}c{cell % 9 + 1}" for cell in range(CELLS) if not board[cell]),
    }
    return Message("user", fill(_prompt(), values))


def turn_limit(puzzle: Board) -> int:
    """Most turns of an episode: three for each blank."""
    return 3 * puzzle.count(0)


@cache
def _prompt() -> str:
    return read_text(PROMPT_FILE).rstrip("\n")


def _row(row: int, digits: Board) -> str:
    cells = [f"  {digit or '.'}" for digit in digits]
    return f"r{row + 1} " + " |".join("".join(cells[start : start + 3]) for start in (0, 3, 6))
