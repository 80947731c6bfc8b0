"""The published boards, made again byte by byte.

Source: the files `train.jsonl` and `eval.jsonl` of Agentic-ESOpt's Sudoku task: 128 boards each, blanks 5, 10, 15, 20
in turn, all from one `random.Random(20260701)`.
"""

import json
import random
from collections.abc import Iterator
from typing import Any, Literal

from coevo.sudoku_boards import Board, compact, random_blanks, random_solution, without

File = Literal["train", "eval"]

SEED = 20260701
BLANKS = (5, 10, 15, 20)
ROWS = 128
"""Boards of each file."""


def published_rows(file: File) -> list[dict[str, Any]]:
    """The rows of one of the two files, keys in file order."""
    return list(_all_rows())[:ROWS] if file == "train" else list(_all_rows())[ROWS:]


def published_text(file: File) -> str:
    """The file itself, as UTF-8 text."""
    return "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in published_rows(file))


def _all_rows() -> Iterator[dict[str, Any]]:
    rng = random.Random(SEED)
    for split in ("train", "eval"):
        for number in range(ROWS):
            blanks = BLANKS[number % len(BLANKS)]
            solution = random_solution(rng)
            puzzle = without(solution, random_blanks(blanks, rng))
            yield {
                "id": f"{split}-{number:06d}",
                "source": "generated",
                "split": split,
                "mask_count": blanks,
                "puzzle": _grid(puzzle),
                "solution": _grid(solution),
                "puzzle_compact": compact(puzzle),
                "solution_compact": compact(solution),
            }


def _grid(board: Board) -> list[list[int]]:
    return [list(board[start : start + 9]) for start in range(0, 81, 9)]
