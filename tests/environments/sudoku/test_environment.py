"""Episodes: legal and illegal actions, the turn limit, and the reward at the end."""

import re
from collections.abc import Callable
from typing import get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coevo.environments.sudoku.environment as environment
from coevo.environments.spec import EnvironmentSpec
from coevo.environments.sudoku.drawing import PROMPT_FILE, draw
from coevo.environments.sudoku.environment import Sudoku
from coevo.interfaces import Environment, EnvironmentModule, Step, Task
from coevo.sudoku_boards import candidates, from_compact, solutions

Make = Callable[[int, int], Task]
SEEDS = st.integers(0, 10_000)
NOTHING = ["", "set 0 0 0", "hello", "{", '{"row": 12, "col": 1, "value": 1}']


def opened(task: Task) -> Sudoku:
    """An environment at the start of an episode."""
    found = Sudoku()
    found.reset(task, 0)
    return found


def blanks_of(task: Task) -> list[int]:
    """The blank cells of a task's puzzle."""
    return [cell for cell in range(81) if task.data["puzzle"][cell] == "."]


def written(cell: int, digit: int | str) -> str:
    """The answer that writes a digit."""
    return f"set {cell // 9 + 1} {cell % 9 + 1} {digit}"


def play(found: Sudoku, answers: list[str]) -> list[Step]:
    """The steps of answers in turn."""
    return [found.step(answer) for answer in answers]


def test_the_module_keeps_the_contract() -> None:
    """The module and its episodes satisfy the protocols; options and `environment.toml` name the same."""
    import tomllib

    spec = EnvironmentSpec.model_validate(tomllib.loads(PROMPT_FILE.with_name("environment.toml").read_text()))
    arguments = set(get_type_hints(environment.tasks)) - {"split", "return"}

    assert isinstance(environment, EnvironmentModule)
    assert isinstance(environment.open(), Environment)
    assert {option.name for option in spec.options} == arguments
    assert spec.limits.turns == 3 * 45
    defaults = {option.name: option.default for option in spec.options}
    assert environment.tasks("val", **defaults) == environment.tasks("val")


@given(SEEDS, st.integers(1, 12), st.randoms(use_true_random=False))
def test_the_right_digits_in_any_order_earn_one(random_task: Make, seed: int, blanks: int, order) -> None:
    """A solution takes as many turns as there are blanks; the reward comes with the last of them."""
    task = random_task(seed, blanks)
    cells = blanks_of(task)
    order.shuffle(cells)
    steps = play(opened(task), [written(cell, task.data["solution"][cell]) for cell in cells])

    assert [step.reward for step in steps] == [0.0] * (blanks - 1) + [1.0]
    assert [step.done for step in steps] == [False] * (blanks - 1) + [True]
    assert all(step.info["valid"] for step in steps)
    assert steps[-1].messages == ()
    assert not any(step.truncated for step in steps)


@given(SEEDS, st.data())
def test_a_wrong_digit_is_never_made_good(random_task: Make, seed: int, data: st.DataObject) -> None:
    """It is written, cannot be overwritten, and the full board earns nothing (four blanks leave one solution)."""
    task = random_task(seed, 4)
    cells = blanks_of(task)
    bad = data.draw(st.sampled_from(cells))
    wrong = data.draw(st.sampled_from([d for d in "123456789" if d != task.data["solution"][bad]]))
    found = opened(task)
    assert found.step(written(bad, wrong)).info == {
        "valid": True,
        "action": [bad // 9 + 1, bad % 9 + 1, int(wrong)],
        "blanks": 3,
    }
    again = found.step(written(bad, task.data["solution"][bad]))
    steps = play(found, [written(cell, task.data["solution"][cell]) for cell in cells if cell != bad])

    assert not again.info["valid"]
    assert "has been filled already" in again.messages[0].content
    assert steps[-1].done
    assert sum(step.reward for step in steps) == 0.0


def test_any_completion_counts(random_task: Make) -> None:
    """On a board with two solutions either of them earns the reward."""
    task = next(
        t for t in (random_task(seed, 40) for seed in range(200)) if len(solutions(from_compact(t.data["puzzle"]))) == 2
    )
    for solution in solutions(from_compact(task.data["puzzle"])):
        steps = play(opened(task), [written(cell, solution[cell]) for cell in blanks_of(task)])
        assert steps[-1].reward == 1.0


@given(
    SEEDS,
    st.lists(
        st.sampled_from(NOTHING) | st.text(max_size=30).filter(lambda t: not any(c.isdigit() for c in t)), max_size=8
    ),
)
def test_an_answer_without_an_action_changes_nothing_and_costs_a_turn(
    random_task: Make, seed: int, answers: list[str]
) -> None:
    """The board stays, the turn is counted, and the next message says why."""
    task = random_task(seed, 3)
    found = opened(task)
    for turn, answer in enumerate(answers, 2):
        step = found.step(answer)
        assert step.info["valid"] is False
        assert step.reward == 0.0
        content = step.messages[0].content
        assert f"turn {turn} of 9, 3 empty cells left" in content
        assert "Your last answer changed nothing: " in content
        assert content.count(draw(from_compact(task.data["puzzle"]))) == 2


def test_a_given_digit_stays(random_task: Make) -> None:
    """Writing to a given cell is refused, the right digit too."""
    task = random_task(1, 5)
    given_cell = next(cell for cell in range(81) if task.data["puzzle"][cell] != ".")
    step = opened(task).step(written(given_cell, task.data["puzzle"][given_cell]))

    assert "is a given digit and stays as it is" in step.messages[0].content


def test_the_refusal_is_told_once(random_task: Make) -> None:
    """The message after a valid action says nothing of an earlier refusal."""
    task = random_task(1, 5)
    found = opened(task)
    cell = blanks_of(task)[0]
    found.step("nothing")
    step = found.step(written(cell, task.data["solution"][cell]))

    assert "changed nothing" not in step.messages[0].content
    assert f"r{cell // 9 + 1}c{cell % 9 + 1}" not in step.messages[0].content.rpartition("Empty cells:")[2]


@pytest.mark.parametrize("blanks", [1, 5, 15])
def test_an_episode_is_cut_off_after_three_turns_a_blank(random_task: Make, blanks: int) -> None:
    """The last turn is truncated, unrewarded, and nothing may follow."""
    found = opened(random_task(0, blanks))
    steps = play(found, ["?"] * (3 * blanks))

    assert [step.truncated for step in steps] == [False] * (3 * blanks - 1) + [True]
    assert not any(step.done or step.reward for step in steps)
    assert steps[-1].messages == ()
    with pytest.raises(RuntimeError, match="no episode is open"):
        found.step("set 1 1 1")


def test_the_last_turn_can_still_solve(random_task: Make) -> None:
    """A board that is completed in its last turn is done, not cut off."""
    task = random_task(0, 1)
    cell = blanks_of(task)[0]
    steps = play(opened(task), ["?", "?", written(cell, task.data["solution"][cell])])

    assert (steps[-1].reward, steps[-1].done, steps[-1].truncated) == (1.0, True, False)


@settings(max_examples=25)
@given(SEEDS, st.integers(1, 20), st.randoms(use_true_random=False))
def test_every_message_shows_the_board_as_it_is(random_task: Make, seed: int, blanks: int, order) -> None:
    """One user message a turn: the puzzle, the board, the turn and the empty cells, drawn exactly."""
    task = random_task(seed, blanks)
    found, puzzle = Sudoku(), from_compact(task.data["puzzle"])
    (message,) = found.reset(task, seed)
    board, turn = puzzle, 1
    while True:
        empty = [f"r{cell // 9 + 1}c{cell % 9 + 1}" for cell in range(81) if not board[cell]]
        assert message.role == "user"
        assert f"Original puzzle ({blanks} empty cells):\n{draw(puzzle)}\n" in message.content
        assert (
            f"Current board (turn {turn} of {3 * blanks}, {len(empty)} empty cells left):\n{draw(board)}\n"
            in message.content
        )
        assert message.content.endswith(f"Empty cells: {', '.join(empty)}")
        assert "$" not in message.content
        cell = order.choice([cell for cell in range(81) if not board[cell]])
        digit = order.choice(candidates(board, cell) or (1,))
        step = found.step(written(cell, digit))
        board, turn = (*board[:cell], digit, *board[cell + 1 :]), turn + 1
        if step.done:
            break
        (message,) = step.messages


def test_a_drawing_is_read_by_its_coordinates() -> None:
    """The drawing of a grid, line by line."""
    lines = draw(
        tuple((3 * (r % 3) + r // 3 + c) % 9 + 1 if (r, c) != (0, 1) else 0 for r in range(9) for c in range(9))
    ).split("\n")

    assert lines[0] == "    c1 c2 c3 | c4 c5 c6 | c7 c8 c9"
    assert lines[1] == "r1   1  .  3 |  4  5  6 |  7  8  9"
    assert lines[4] == lines[8] == "    ---------+----------+---------"
    assert lines[11] == "r9   9  1  2 |  3  4  5 |  6  7  8"
    assert len(lines) == 12


def test_episodes_are_deterministic_and_independent(random_task: Make) -> None:
    """The seed changes nothing, a second episode starts afresh, and closing twice is allowed."""
    task, found = random_task(5, 6), Sudoku()
    first = found.reset(task, 1)
    found.step("set 1 1 1")

    assert found.reset(task, 2) == first
    assert re.search(r"turn 1 of 18, 6 empty", first[0].content)
    found.close()
    found.close()
    with pytest.raises(RuntimeError):
        found.step("set 1 1 1")
