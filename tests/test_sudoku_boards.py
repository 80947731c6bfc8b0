"""Boards as values: grids are valid, solutions are counted right, shares never overlap."""

import random
from collections import Counter
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coevo.sudoku_boards import (
    PEERS,
    SHARES,
    UNITS,
    candidates,
    compact,
    from_compact,
    is_solved,
    random_blanks,
    random_solution,
    share_of,
    solutions,
    without,
)

SEEDS = st.integers(0, 2**32)


def solved(seed: int) -> tuple[int, ...]:
    """A complete grid."""
    return random_solution(random.Random(seed))


def test_every_cell_lies_in_three_units_and_has_twenty_peers() -> None:
    """27 units of nine cells cover the board three times."""
    counts = Counter(cell for unit in UNITS for cell in unit)

    assert len(UNITS) == 27
    assert counts == dict.fromkeys(range(81), 3)
    assert {len(peers) for peers in PEERS} == {20}


@given(SEEDS)
def test_random_grids_are_valid(seed: int) -> None:
    """Every row, column and box of a random grid holds the nine digits."""
    assert is_solved(solved(seed))


@given(SEEDS, st.integers(0, 80), st.integers(0, 9))
def test_a_grid_with_one_changed_digit_is_not_solved(seed: int, cell: int, digit: int) -> None:
    """No other digit fits into a complete grid, nor a blank."""
    grid = solved(seed)
    changed = (*grid[:cell], digit, *grid[cell + 1 :])

    assert is_solved(changed) == (changed == grid)


@given(SEEDS, st.integers(0, 40))
def test_blanking_and_solving_gives_the_grid_back(seed: int, blanks: int) -> None:
    """The grid is among the solutions, each of which is valid and keeps the given digits."""
    grid = solved(seed)
    board = without(grid, random_blanks(blanks, random.Random(seed + 1)))
    found = solutions(board, limit=50)

    assert board.count(0) == blanks
    assert grid in found or len(found) == 50
    assert len(found) == len(set(found))
    for solution in found:
        assert is_solved(solution)
        assert all(given in (0, digit) for given, digit in zip(board, solution, strict=True))


@settings(max_examples=40)
@given(SEEDS, st.lists(st.integers(0, 80), min_size=1, max_size=4, unique=True))
def test_solutions_are_counted_as_trying_every_digit_counts_them(seed: int, cells: list[int]) -> None:
    """The solver agrees with brute force on boards with up to four blanks, also where a row was damaged."""
    board = list(without(solved(seed), cells))
    expected = 0
    for digits in product(range(1, 10), repeat=len(cells)):
        for cell, digit in zip(cells, digits, strict=True):
            board[cell] = digit
        expected += is_solved(tuple(board))

    assert len(solutions(without(tuple(board), cells), limit=100)) == expected


def test_two_solutions_are_told_from_one() -> None:
    """A rectangle of two digits in two rows, two columns and two boxes can be filled in two ways."""
    rectangle = (0, 3, 9, 12)
    corners = dict(zip(rectangle, (1, 2, 2, 1), strict=True))
    (grid,) = solutions(tuple(corners.get(cell, 0) for cell in range(81)), limit=1)

    assert len(solutions(without(grid, rectangle))) == 2
    assert len(solutions(without(grid, rectangle[:3]))) == 1


def test_clashing_digits_have_no_solution() -> None:
    """A board whose givens clash is never completed, with or without blanks."""
    grid = solved(3)
    clash = (grid[1], *grid[1:])

    assert solutions(clash) == []
    assert solutions(without(clash, range(40, 60))) == []
    assert solutions((0,) * 81, limit=3)[2] != solutions((0,) * 81, limit=3)[1]


@given(SEEDS, st.integers(0, 80))
def test_the_right_digit_is_a_candidate(seed: int, cell: int) -> None:
    """With one blank the only candidate is the digit that was there."""
    grid = solved(seed)

    assert candidates(without(grid, (cell,)), cell) == (grid[cell],)


@given(SEEDS, st.integers(0, 81))
def test_compact_text_restores_the_board(seed: int, blanks: int) -> None:
    """81 characters stand for a board, dots and zeros for its blanks."""
    board = without(solved(seed), random_blanks(blanks, random.Random(seed)))

    assert from_compact(compact(board)) == board
    assert from_compact(compact(board).replace(".", "0")) == board


@pytest.mark.parametrize("text", ["", "1" * 80, "1" * 82, "x" * 81, "1\n" * 40 + "1", "١" * 81])
def test_other_text_is_no_board(text: str) -> None:
    """A board is 81 of the characters 1-9, 0 and dot."""
    with pytest.raises(ValueError, match="expected 81 characters"):
        from_compact(text)


def test_shares_divide_the_grids_evenly() -> None:
    """Each share gets about a quarter of random grids (500 of 2000 expected, spread 19)."""
    counts = Counter(share_of(solved(seed)) for seed in range(2000))

    assert set(counts) == set(SHARES)
    assert all(400 < count < 600 for count in counts.values())
