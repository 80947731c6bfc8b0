"""Boards of the user's: a folder with one `<split>.jsonl` for each split.

A line is a JSON object whose `puzzle` is 81 characters (digits, a dot for a blank) or nine lists of nine numbers (0 for
a blank); `id` may name it. That is what the published files look like, too. Boards with another number of blanks than
asked for are passed over.
"""

import json
from pathlib import Path
from typing import Any

from coevo.content import read_text
from coevo.environments.sudoku.boards import board_task, check_options
from coevo.errors import ConfigError, ContentError
from coevo.interfaces import Task
from coevo.sudoku_boards import Board, from_compact, solutions


def user_tasks(folder: Path, split: str, blanks: int, size: int) -> list[Task]:
    """The first boards of a split that have so many blanks.

    Raises:
        ConfigError: If there is no such folder or file, or an option is out of range.
        ContentError: If a line is no board, a board has no solution, there are too few boards, or one stands both in
            train and in another split.
    """
    check_options(split, blanks, size)
    if not (folder / f"{split}.jsonl").is_file():
        raise ConfigError(f"expected data= empty, 'published' or a folder with {split}.jsonl, got {str(folder)!r}")
    found = _boards(folder / f"{split}.jsonl", blanks)
    if len(found) < size:
        raise ContentError(
            f"{folder / split}.jsonl: expected {size} boards with {blanks} blanks, got {len(found)}; set --option size="
        )
    if split != "train" and (folder / "train.jsonl").is_file():
        _refuse_shared(folder, split, found, _boards(folder / "train.jsonl", blanks))
    return [board_task(name, board, solutions(board, 1)[0]) for name, board in list(found.items())[:size]]


def _boards(file: Path, blanks: int) -> dict[str, Board]:
    """Name -> board, in file order."""
    found: dict[str, Board] = {}
    for number, line in enumerate(read_text(file).splitlines(), 1):
        if not line.strip():
            continue
        name, board = _board(file, number, line)
        if board.count(0) != blanks:
            continue
        if name in found:
            raise ContentError(f"{file}, line {number}: expected different ids, got {name!r} a second time")
        if not solutions(board, 1):
            raise ContentError(f"{file}, line {number}: expected a board that can be solved, this one cannot")
        found[name] = board
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


def _refuse_shared(folder: Path, split: str, found: dict[str, Board], trained: dict[str, Board]) -> None:
    shared = set(found.values()) & set(trained.values())
    if shared:
        raise ContentError(
            f"{folder}: expected {split}.jsonl and train.jsonl to differ, {len(shared)} boards are in both"
        )
