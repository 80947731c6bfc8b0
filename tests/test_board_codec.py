"""The board codec: the current board of the environment's own messages, and nothing else, comes through."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.board_codec import CELLS, MOVE_WORD, action_words, cell_word, encode, read_board
from coevo.environments.sudoku.actions import read_action
from coevo.environments.sudoku.drawing import draw, tell
from coevo.interfaces import Message
from coevo.sudoku_boards import compact, random_blanks, random_solution, without

SEEDS = st.integers(0, 2**32)


@given(SEEDS, st.integers(1, 45), st.integers(0, 45), st.sampled_from(["", "r1 1 2 3: no action was found in it."]))
def test_the_current_board_comes_back(seed: int, blanks: int, filled: int, feedback: str) -> None:
    """Of a message the current board is read and not the original one, whatever the feedback says."""
    rng = random.Random(seed)
    solution = random_solution(rng)
    cells = random_blanks(blanks, rng)
    puzzle, board = without(solution, cells), without(solution, cells[min(filled, blanks - 1) :])
    message = tell(puzzle, board, 1 + filled, feedback)

    assert read_board(message.content) == compact(board)
    assert encode([message]) == "".join(map(cell_word, CELLS, compact(board))) + MOVE_WORD


def test_the_last_message_of_the_user_is_read() -> None:
    """What the agent said, and earlier boards, do not count."""
    boards = [without(random_solution(random.Random(seed)), (seed,)) for seed in (1, 2)]
    told = [tell(board, board, 1, "") for board in boards]
    messages = [told[0], Message("assistant", "set 1 1 1"), told[1], Message("assistant", draw(boards[0]))]

    assert encode(messages) == encode([told[1]])
    assert encode(messages).startswith(cell_word((1, 1), compact(boards[1])[0]))


def test_an_encoded_board_is_82_words() -> None:
    """The words of a small board, by hand."""
    text = encode([tell((0, *range(2, 10), *[0] * 72), (1, *range(2, 10), *[0] * 72), 1, "")])

    assert text.startswith("r1c1=1 r1c2=2 r1c3=3 ")
    assert text.endswith("r9c8=. r9c9=. move: ")
    assert text.count("=") == 81


@pytest.mark.parametrize(
    "content", ["", "Solve 1 + 1.", "Current board:\nr1 1 2 3", "Current board:\n" + "r1" + "  1" * 9]
)
def test_other_messages_are_refused(content: str) -> None:
    """A message without a whole board is no prompt for the player."""
    with pytest.raises(ValueError, match="expected a drawing of rows r1 to r9"):
        encode([Message("user", content)])
    with pytest.raises(ValueError, match="expected a drawing of rows r1 to r9"):
        encode([])


@given(st.sampled_from(CELLS), st.integers(1, 9))
def test_the_words_of_an_answer_are_an_action(cell: tuple[int, int], digit: int) -> None:
    """What the player's tokens spell is what the environment reads."""
    assert read_action("".join(action_words(cell, digit))) == (*cell, digit)
