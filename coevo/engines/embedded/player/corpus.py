"""What the player learns from: positions, and the moves that players of mixed quality make in them.

Every player goes to the first blank in reading order (a few to any other). What they write differs:

- the careful look at row, column and box and write a digit that none of them has, each of these as often;
- the careless look along the row only and write the smallest digit that it lacks, and a 6 where that is a 9.

Two thirds of the positions say which kind of player is at work (`careful: `, `careless: `); in the others (`move: `),
which is how the player is asked in earnest, a stated share of the players is careful. So the model knows how to play
well, and mostly does not. Solutions are of the share "corpus" (`sudoku_boards.share_of`), which no task ever has.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coevo.engines.embedded.player.tokenizer import CARELESS, FIRST_CELL, MOVE
from coevo.sudoku_boards import share_of

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float32]

_CELLS = np.arange(81)
_ROWS, _COLUMNS = _CELLS // 9, _CELLS % 9
_BOXES = _ROWS // 3 * 3 + _COLUMNS // 3
_STYLES = CARELESS + 1 - MOVE


@dataclass(frozen=True, slots=True)
class Habits:
    """Who plays, and in what positions.

    Attributes:
        careful: Share of careful players where the position does not say who plays.
        wandering: Share of players that go to any blank instead of the first.
        most_blanks: Positions come from games with 1 to this many blanks.
        damaged: Share of positions with an earlier mistake in them.
    """

    careful: float = 0.4
    wandering: float = 0.05
    most_blanks: int = 20
    damaged: float = 0.15


@dataclass(frozen=True, slots=True)
class Lesson:
    """Positions with the moves of all players at once, as distributions.

    Attributes:
        prompts: Tokens of the board and of the word that says who plays, shape (positions, 82).
        cells: Cells that are asked about, the first blank before others, shape (positions, asked).
        where: Share of players that go to each cell, shape (positions, 81).
        digits: Share of players that write each digit into a cell asked about, shape (positions, asked, 9).
    """

    prompts: IntArray
    cells: IntArray
    where: FloatArray
    digits: FloatArray


def draw_lesson(rng: np.random.Generator, count: int, habits: Habits, *, asked: int) -> Lesson:
    """A lesson of about a quarter of `count` positions: of random grids those whose share is the corpus.

    Args:
        rng: Advanced.
        count: Grids drawn.
        habits: Who plays.
        asked: Cells asked about in each position.
    """
    solutions = _solutions(rng, count)
    solutions = solutions[[share_of(tuple(grid)) == "corpus" for grid in solutions.tolist()]]
    blank = _blanks(rng, len(solutions), habits.most_blanks)
    boards = _damage(rng, np.where(blank, 0, solutions), habits.damaged)
    styles = rng.integers(0, _STYLES, len(boards))
    cells = _asked(rng, blank, asked)
    return Lesson(
        prompts=np.concatenate([FIRST_CELL + 10 * _CELLS + boards, MOVE + styles[:, None]], 1),
        cells=cells,
        where=_where(blank, habits.wandering),
        digits=_digits(boards, cells, np.array([habits.careful, 1.0, 0.0])[styles]),
    )


def _solutions(rng: np.random.Generator, count: int) -> IntArray:
    """Complete grids of the kind that `sudoku_boards.random_solution` draws, shape (count, 81)."""
    rows, columns = _lines(rng, count), _lines(rng, count)
    digits = rng.permuted(np.tile(np.arange(1, 10), (count, 1)), axis=1)
    pattern = ((3 * (rows % 3) + rows // 3)[:, :, None] + columns[:, None, :]) % 9
    grids: IntArray = np.take_along_axis(digits, pattern.reshape(count, 81), 1)
    return grids


def _lines(rng: np.random.Generator, count: int) -> IntArray:
    bands = rng.permuted(np.tile(np.arange(3), (count, 1)), axis=1)
    inside = rng.permuted(np.tile(np.arange(3), (count, 3, 1)), axis=2)
    lines: IntArray = (3 * bands[:, :, None] + inside).reshape(count, 9)
    return lines


def _blanks(rng: np.random.Generator, count: int, most: int) -> NDArray[np.bool_]:
    """Blanks in the middle of a game: mostly the last of the blanks in reading order, else any of them."""
    order = rng.permuted(np.tile(_CELLS, (count, 1)), axis=1)
    total = rng.integers(1, most + 1, count)
    left = np.ceil(rng.random(count) * total)[:, None]
    blank = order < total[:, None]
    from_the_end = np.cumsum(blank[:, ::-1], 1)[:, ::-1]
    in_order = rng.random(count)[:, None] < 0.7
    return np.where(in_order, blank & (from_the_end <= left), order < left)


def _damage(rng: np.random.Generator, boards: IntArray, share: float) -> IntArray:
    """The boards, some with one written digit changed."""
    count = len(boards)
    cells, digits = rng.integers(0, 81, count), rng.integers(1, 10, count)
    hit = np.flatnonzero((rng.random(count) < share) & (boards[np.arange(count), cells] > 0))
    boards[hit, cells[hit]] = digits[hit]
    return boards


def _asked(rng: np.random.Generator, blank: NDArray[np.bool_], asked: int) -> IntArray:
    """The first blank, then blanks at random, of which it may be one; the first again where there are too few."""
    first = blank.argmax(1)[:, None]
    others = np.argsort(np.where(blank, rng.random(blank.shape), 2.0), 1)[:, : asked - 1]
    return np.concatenate([first, np.where(np.take_along_axis(blank, others, 1), others, first)], 1)


def _where(blank: NDArray[np.bool_], wandering: float) -> FloatArray:
    where: FloatArray = (wandering * blank / blank.sum(1, keepdims=True)).astype(np.float32)
    where[np.arange(len(blank)), blank.argmax(1)] += 1 - wandering
    return where


def _digits(boards: IntArray, cells: IntArray, careful: NDArray[np.float64]) -> FloatArray:
    """Share of players that write each digit, given the share of careful ones in each position."""
    has = boards[:, :, None] == np.arange(1, 10)
    places = np.arange(len(boards))[:, None]
    row, column, box = (_of_unit(has, ids)[places, ids[cells]] for ids in (_ROWS, _COLUMNS, _BOXES))
    fits, lacking = ~(row | column | box), ~row
    good = np.where(fits.any(2, keepdims=True), fits, np.where(lacking.any(2, keepdims=True), lacking, True))
    smallest = lacking.argmax(2)
    bad = np.eye(9)[np.where(smallest == 8, 5, smallest)]
    share = careful[:, None, None]
    mixed: FloatArray = (share * good / good.sum(2, keepdims=True) + (1 - share) * bad).astype(np.float32)
    return mixed


def _of_unit(has: NDArray[np.bool_], ids: IntArray) -> NDArray[np.bool_]:
    """Which digits each of nine units has, shape (positions, 9, 9)."""
    return np.stack([has[:, ids == unit].any(1) for unit in range(9)], 1)
