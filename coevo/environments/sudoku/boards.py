"""The tasks of each split: new boards, the published ones, or a user's own.

New boards have exactly one solution, checked. A split's solutions are those of its share (`sudoku_boards.share_of`), so
that no two splits share one, at any size; the first boards of a split stay the same when more are asked for. Beside
the published boards, whose two files are train and test, stands a val split of new boards with solutions of neither.
"""

import random
from collections.abc import Collection, Iterator
from itertools import islice

from coevo.environments.sudoku.published import BLANKS, published_rows
from coevo.errors import ConfigError
from coevo.interfaces import Task
from coevo.sudoku_boards import (
    SHARES,
    Board,
    compact,
    from_compact,
    random_blanks,
    random_solution,
    share_of,
    solutions,
    without,
)

SPLITS: tuple[str, ...] = SHARES[:3]
MOST_BLANKS = 45
"""Beyond it boards with one solution become hard to find by blanking cells at random."""


def new_tasks(split: str, blanks: int, size: int, banned: Collection[Board] = ()) -> list[Task]:
    """Boards with one solution each, all different; a function of the split and the number of blanks.

    Args:
        split: Whose share of the solutions they have.
        blanks: Blank cells of each.
        size: How many.
        banned: Solutions that no board may have.

    Raises:
        ConfigError: If there is no such split, or the number of blanks or the size is out of range.
    """
    check_options(split, blanks, size)
    return [
        board_task(f"{split}-{blanks}-{number:04d}", puzzle, solution)
        for number, (puzzle, solution) in enumerate(islice(_new_boards(split, blanks, banned), size))
    ]


def published_tasks(split: str, blanks: int, size: int) -> list[Task]:
    """The first published boards with so many blanks; of the val split, which was not published, new ones.

    Raises:
        ConfigError: If there is no such split, or no published board with so many blanks, or fewer than `size`.
    """
    check_options(split, blanks, size)
    if blanks not in BLANKS:
        raise ConfigError(f"expected one of {BLANKS} blanks with data=published, got {blanks}; set --option blanks=5")
    if split == "val":
        both = [*published_rows("train"), *published_rows("eval")]
        return new_tasks("val", blanks, size, {from_compact(row["solution_compact"]) for row in both})
    rows = [row for row in published_rows("train" if split == "train" else "eval") if row["mask_count"] == blanks]
    if size > len(rows):
        raise ConfigError(f"expected a size of at most {len(rows)} with data=published, got {size}")
    return [
        board_task(row["id"], from_compact(row["puzzle_compact"]), from_compact(row["solution_compact"]))
        for row in rows[:size]
    ]


def board_task(name: str, puzzle: Board, solution: Board) -> Task:
    """The task of completing a board; its data are both boards as 81 characters."""
    return Task(name, {"puzzle": compact(puzzle), "solution": compact(solution)})


def _new_boards(split: str, blanks: int, banned: Collection[Board]) -> Iterator[tuple[Board, Board]]:
    """Puzzles with their solutions, without end, from one generator seeded by the split and the blanks."""
    rng, seen = random.Random(f"coevo sudoku {split} {blanks}"), set(banned)
    while True:
        solution = random_solution(rng)
        if share_of(solution) != split or solution in seen:
            continue
        puzzle = _blanked(solution, blanks, rng)
        if puzzle is not None:
            seen.add(solution)
            yield puzzle, solution


def _blanked(solution: Board, blanks: int, rng: random.Random) -> Board | None:
    """The solution with random cells blank such that it stays the only one; None if that many were not found.

    With few blanks any cells will do; with many, cells are taken one by one and put back where a second solution
    would appear.
    """
    cells = random_blanks(81, rng)
    puzzle = without(solution, cells[:blanks])
    if len(solutions(puzzle)) == 1:
        return puzzle
    puzzle = solution
    for cell in cells:
        fewer = without(puzzle, (cell,))
        if len(solutions(fewer)) == 1:
            puzzle = fewer
        if puzzle.count(0) == blanks:
            return puzzle
    return None


def check_options(split: str, blanks: int, size: int) -> None:
    """Refuse what no data set has.

    Raises:
        ConfigError: If there is no such split, or the number of blanks or the size is out of range.
    """
    if split not in SPLITS:
        raise ConfigError(f"expected a split of {', '.join(SPLITS)}, got {split!r}")
    if not 1 <= blanks <= MOST_BLANKS:
        raise ConfigError(f"expected 1 to {MOST_BLANKS} blanks, got {blanks}; set --option blanks=5")
    if not 1 <= size <= 10_000:
        raise ConfigError(f"expected a size of 1 to 10000 boards, got {size}; set --option size=32")
