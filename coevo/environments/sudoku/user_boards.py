"""Boards of the user's: a folder with one `<split>.jsonl` for each split.

A line is a JSON object whose `puzzle` is 81 characters (digits, a dot for a blank) or nine lists of nine numbers (0 for
a blank); `id` may name it. That is what the published files look like, too. Boards with another number of blanks than
asked for are passed over.
"""

import json
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

from coevo.content import read_text
from coevo.environments.sudoku.boards import SPLITS, board_task, check_options
from coevo.errors import ConfigError, ContentError
from coevo.interfaces import Task
from coevo.sudoku_boards import Board, from_compact, solutions


def user_tasks(folder: Path, split: str, blanks: int, size: int) -> list[Task]:
    """The first boards of a split that have so many blanks.

    Raises:
        ConfigError: If there is no such folder or file, or an option is out of range.
        ContentError: If a line is no board, a board has no solution, there are too few boards, or two splits of the
            folder share a board or the solution of one.
    """
    check_options(split, blanks, size)
    if not (folder / f"{split}.jsonl").is_file():
        raise ConfigError(f"expected data= empty, 'published' or a folder with {split}.jsonl, got {str(folder)!r}")
    boards = {name: _boards(file, blanks) for name in SPLITS if (file := folder / f"{name}.jsonl").is_file()}
    found = boards[split]
    if len(found) < size:
        raise ContentError(
            f"{folder / split}.jsonl: expected {size} boards with {blanks} blanks, got {len(found)}; set --option size="
        )
    _refuse_shared(folder, boards)
    return [board_task(name, *board) for name, board in list(found.items())[:size]]


def _boards(file: Path, blanks: int) -> dict[str, tuple[Board, Board]]:
    """Name -> board and its solution, the first one where it has several; in file order."""
    found: dict[str, tuple[Board, Board]] = {}
    for number, line in enumerate(read_text(file).splitlines(), 1):
        if not line.strip():
            continue
        name, board = _board(file, number, line)
        if board.count(0) != blanks:
            continue
        if name in found:
            raise ContentError(f"{file}, line {number}: expected different ids, got {name!r} a second time")
        solved = solutions(board, 1)
        if not solved:
            raise ContentError(f"{file}, line {number}: expected a board that can be solved, this one cannot")
        found[name] = board, solved[0]
    return found


def _board(file: Path, number: int, line: str) -> tuple[str, Board]:
    try:
        row = json.loads(line)
        puzzle = row["puzzle"]
        text = puzzle if isinstance(puzzle, str) else _flat(puzzle)
        return str(row.get("id", f"{file.stem}-{number:06d}")), from_compact(text)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ContentError(
            f'{file}, line {number}: expected an object with "puzzle", 81 characters or nine lists of nine numbers, '
            f"got {line[:60]!r} ({type(error).__name__})"
        ) from error


def _flat(puzzle: Any) -> str:
    numbers = [number for row in puzzle for number in row]
    return "".join(str(number) if number in range(10) else "?" for number in numbers)


def _refuse_shared(folder: Path, boards: Mapping[str, Mapping[str, tuple[Board, Board]]]) -> None:
    """Whatever split is asked for, all that there are have to differ: val chooses, and the rest is only reported."""
    for first, second in combinations(boards, 2):
        known = {board for pair in boards[first].values() for board in pair}
        shared = [name for name, pair in boards[second].items() if known.intersection(pair)]
        if shared:
            raise ContentError(
                f"{folder}: expected {first}.jsonl and {second}.jsonl to have different boards and solutions, "
                f"{len(shared)} of {second} are in both, e.g. {shared[0]!r}"
            )
