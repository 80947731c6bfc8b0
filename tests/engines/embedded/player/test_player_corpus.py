"""The lessons: legal positions, and the moves that careful and careless players make in them."""

import numpy as np
import pytest

from coevo.engines.embedded.player import corpus
from coevo.engines.embedded.player.corpus import Habits, Lesson, draw_lesson
from coevo.engines.embedded.player.tokenizer import CAREFUL, CARELESS, FIRST_CELL, MOVE
from coevo.engines.embedded.player.training import Recipe
from coevo.environments.sudoku.published import published_rows
from coevo.sudoku_boards import candidates, from_compact, share_of, solutions

HABITS = Habits(careful=0.3, wandering=0.1, most_blanks=12, damaged=0.0)


def lesson(seed: int = 0, count: int = 200, habits: Habits = HABITS) -> Lesson:
    """A lesson of some fifty positions."""
    return draw_lesson(np.random.default_rng(seed), count, habits, asked=3)


def boards(found: Lesson) -> list[tuple[int, ...]]:
    """The boards of a lesson's prompts."""
    contents = found.prompts[:, :81] - FIRST_CELL - 10 * np.arange(81)
    return [tuple(board) for board in contents.tolist()]


def careless_digit(board: tuple[int, ...], cell: int) -> int:
    """The smallest digit that the row lacks, and 6 for 9, in plain Python."""
    row = {board[9 * (cell // 9) + column] for column in range(9)}
    smallest = min(set(range(1, 10)) - row)
    return 6 if smallest == 9 else smallest


def test_positions_belong_to_the_corpus() -> None:
    """Every position has a solution of the share that no task has, and 1 to the most blanks."""
    for board in boards(lesson()):
        assert 1 <= board.count(0) <= HABITS.most_blanks
        assert "corpus" in {share_of(solution) for solution in solutions(board, 20)}


@pytest.mark.slow
def test_no_published_solution_was_taught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all the grids that the shipped player's training drew, none is the solution of a published board."""
    rows = [*published_rows("train"), *published_rows("eval")]
    published = {bytes(from_compact(row["solution_compact"])) for row in rows}
    drawn, draw = set(), corpus._solutions

    def watched(rng: np.random.Generator, count: int) -> np.ndarray:
        grids = draw(rng, count)
        drawn.update(published & {bytes(grid) for grid in grids.astype(np.uint8)})
        return grids

    monkeypatch.setattr(corpus, "_solutions", watched)
    recipe = Recipe()
    rng = np.random.default_rng(recipe.seed)
    for step in range(recipe.steps):
        lesson = draw_lesson(rng, recipe.grids, recipe.habits, asked=recipe.asked)
        if step % 5 == 0:
            # The loss on the side draws its digits from the same generator.
            rng.integers(0, 9, lesson.cells[:16, :1].shape)

    assert len(published) == 256
    assert not drawn


def test_players_go_to_the_first_blank_and_some_to_any() -> None:
    """The share of wanderers is spread over all blanks, everything else is on the first."""
    found = lesson()
    for board, where in zip(boards(found), found.where, strict=True):
        blanks = [cell for cell in range(81) if not board[cell]]
        expected = np.zeros(81)
        expected[blanks] = HABITS.wandering / len(blanks)
        expected[blanks[0]] += 1 - HABITS.wandering
        assert where == pytest.approx(expected, abs=1e-6)


def test_digits_are_those_of_careful_and_careless_players() -> None:
    """Each style's digits, and the mixture where the position does not say who plays, by plain Python."""
    found = lesson()
    shares = {MOVE: 0.3, CAREFUL: 1.0, CARELESS: 0.0}
    seen = set()
    for number, board in enumerate(boards(found)):
        style = int(found.prompts[number, 81])
        seen.add(style)
        for cell, digits in zip(found.cells[number].tolist(), found.digits[number], strict=True):
            assert board[cell] == 0
            good = candidates(board, cell)
            expected = np.zeros(10)
            expected[list(good)] += shares[style] / len(good)
            expected[careless_digit(board, cell)] += 1 - shares[style]
            assert digits == pytest.approx(expected[1:], abs=1e-6)
    assert seen == set(shares)


def test_mistakes_leave_every_lesson_a_distribution() -> None:
    """On damaged boards a blank may have no candidate; what players do there still sums to one."""
    found = lesson(count=2000, habits=Habits(damaged=1.0))
    stuck = [
        cell
        for board, cells in zip(boards(found), found.cells, strict=True)
        for cell in cells
        if not candidates(board, cell)
    ]

    assert stuck
    assert found.digits.sum(2) == pytest.approx(np.ones(found.cells.shape), abs=1e-5)
    assert found.where.sum(1) == pytest.approx(np.ones(len(found.cells)), abs=1e-5)


def test_asked_cells_are_blank_and_begin_with_the_first() -> None:
    """The first blank comes first, the others are different blanks as long as there are enough."""
    found = lesson()
    for board, cells in zip(boards(found), found.cells.tolist(), strict=True):
        assert cells[0] == board.index(0)
        assert not any(board[cell] for cell in cells)
        assert len(set(cells[1:])) == min(2, board.count(0))


def test_lessons_are_a_function_of_the_generator() -> None:
    """The same seed gives the same lesson, another one another."""
    first, again, other = lesson(1), lesson(1), lesson(2)

    assert np.array_equal(first.prompts, again.prompts)
    assert np.array_equal(first.digits, again.digits)
    assert not np.array_equal(first.prompts[:10], other.prompts[:10])


def test_careless_players_fail_where_careful_ones_do_not() -> None:
    """The habits differ in about the share of moves that makes careless games fail (a tenth to a half)."""
    found = lesson(count=3000, habits=Habits(most_blanks=5, damaged=0.0))
    wrong = [careless_digit(board, board.index(0)) not in candidates(board, board.index(0)) for board in boards(found)]

    assert 0.1 < sum(wrong) / len(wrong) < 0.5
