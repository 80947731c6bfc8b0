"""Sudoku for an agent: one digit a turn, nothing can be taken back, reward 1 for a complete valid grid and else 0.

A digit is written whether it fits or not: a wrong one makes success impossible, and the episode goes on, as it does in
a task whose outcome shows late. Any valid completion that keeps the given digits counts, not the stored one alone.

Source: the Sudoku task of Agentic-ESOpt (rules, turn limit, reward); the wording of the prompt is ours.
"""

from collections.abc import Sequence
from pathlib import Path

from coevo.environments.sudoku.actions import Action, read_action
from coevo.environments.sudoku.boards import new_tasks, published_tasks
from coevo.environments.sudoku.drawing import tell, turn_limit
from coevo.environments.sudoku.user_boards import user_tasks
from coevo.interfaces import Message, Step, Task
from coevo.sudoku_boards import Board, from_compact, is_solved

PUBLISHED = "published"


def tasks(split: str, *, blanks: int = 5, size: int = 32, data: str = "") -> Sequence[Task]:
    """The boards of a split, in order; a function of the options.

    Args:
        split: train, val or test.
        blanks: Blank cells of each board.
        size: How many boards.
        data: Empty for new boards, "published" for the paper's, or a folder of the user's (`user_boards`).

    Raises:
        ConfigError: If an option is out of range.
        ContentError: If a file of the user's holds something else than boards.
    """
    if data == PUBLISHED:
        return published_tasks(split, blanks, size)
    if data:
        return user_tasks(Path(data).expanduser(), split, blanks, size)
    return new_tasks(split, blanks, size)


def open(*, blanks: int = 5, size: int = 32, data: str = "") -> "Sudoku":  # noqa: A001 - the contract's name
    """A new environment; the options say which tasks there are and change nothing about an episode."""
    return Sudoku()


class Sudoku:
    """See `coevo.interfaces.Environment`. An episode is a function of its task and the answers, whatever the seed."""

    def __init__(self) -> None:
        self._puzzle: Board = ()
        self._board: Board = ()
        self._turns = 0
        self._is_over = True

    def reset(self, task: Task, seed: int) -> Sequence[Message]:
        """See `Environment`."""
        self._puzzle = self._board = from_compact(task.data["puzzle"])
        self._turns, self._is_over = 0, False
        return (tell(self._puzzle, self._board, 1, ""),)

    def step(self, text: str) -> Step:
        """See `Environment`.

        Raises:
            RuntimeError: If no episode is open.
        """
        if self._is_over:
            raise RuntimeError("no episode is open: call reset before step")
        action = read_action(text)
        feedback = self._refusal(action)
        if action is not None and not feedback:
            cell = 9 * (action.row - 1) + action.column - 1
            self._board = (*self._board[:cell], action.digit, *self._board[cell + 1 :])
        self._turns += 1
        return self._answer(action, feedback)

    def close(self) -> None:
        """See `Environment`; there is nothing to release."""
        self._is_over = True

    def _refusal(self, action: Action | None) -> str:
        """Why an action changes nothing; empty for one that writes its digit."""
        if action is None:
            return "no action was found in it. Answer with one line: set <row> <col> <value>"
        if not action.is_in_range:
            return f"set {action.row} {action.column} {action.digit} is out of range; all three numbers are 1 to 9."
        cell, name = 9 * (action.row - 1) + action.column - 1, f"r{action.row}c{action.column}"
        if self._puzzle[cell]:
            return f"{name} is a given digit and stays as it is. Choose one of the empty cells."
        if self._board[cell]:
            return f"{name} has been filled already and stays as it is. Choose one of the empty cells."
        return ""

    def _answer(self, action: Action | None, feedback: str) -> Step:
        is_full = 0 not in self._board
        is_cut = not is_full and self._turns >= turn_limit(self._puzzle)
        self._is_over = is_full or is_cut
        return Step(
            messages=() if self._is_over else (tell(self._puzzle, self._board, self._turns + 1, feedback),),
            reward=float(is_full and is_solved(self._board)),
            done=is_full,
            truncated=is_cut,
            info={"valid": not feedback, "action": list(action) if action else None, "blanks": self._board.count(0)},
        )
