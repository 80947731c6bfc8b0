"""The action parser: documented examples, and answers of every other kind."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.environments.sudoku.actions import Action, read_action

NUMBERS = st.integers(1, 9)


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("set 3 5 7", (3, 5, 7)),
        ("set 3 5 7 ", (3, 5, 7)),
        ("SET 3, 5, 7.", (3, 5, 7)),
        ("set 12 5 7 8", (5, 7, 8)),
        ("set 0 5 7", None),
        ("set 3 5 10", None),
        ("set 3 5 7; set 1 2 3", (3, 5, 7)),
        ("1 2 3\nset 4 5 6", (4, 5, 6)),
        ("place r3c5 = 7", (3, 5, 7)),
        ("R3 C5 <- 7", (3, 5, 7)),
        ("set r12c5 to 7", (12, 5, 7)),
        ("set r3c5 to 10", (3, 5, 10)),
        ("fill one cell\n4 5 6", (4, 5, 6)),
        ("Action: fill 1 2\nand 3", (1, 2, 3)),
        ("3 5 7", (3, 5, 7)),
        ('{"row": 3, "col": 5, "value": 7}', (3, 5, 7)),
        ('well, {"r": "3", "c": 5, "v": 7} or set 1 1 1', (3, 5, 7)),
        ('{"row": 12, "col": 5, "value": 7}', (12, 5, 7)),
        ('{"row": -1, "col": 5, "value": 7}', (-1, 5, 7)),
        ('{"row": 3, "col": 5} set 1 2 3', (3, 5, 1)),
        ('{"row": true, "col": 5, "value": 7} 1 2', (5, 7, 1)),
        ("{broken} set 1 2 3", (1, 2, 3)),
        ("} { set 1 2 3", (1, 2, 3)),
        ("", None),
        ("I give up", None),
        ("set ٣ 5 7", None),
        ("set 357", None),
    ],
)
def test_examples(text: str, action: tuple[int, int, int] | None) -> None:
    """Each text asks for this action."""
    assert read_action(text) == action


@given(NUMBERS, NUMBERS, NUMBERS)
def test_every_way_of_writing_an_action_is_read(row: int, column: int, digit: int) -> None:
    """The asked format, coordinates and both kinds of JSON say the same."""
    action = Action(row, column, digit)
    names = [("row", "col", "value"), ("r", "c", "v")]

    assert action.is_in_range
    assert read_action(f"set {row} {column} {digit}") == action
    assert read_action(f"I fill r{row}c{column} with {digit}.") == action
    for keys in names:
        assert read_action(json.dumps(dict(zip(keys, action, strict=True)))) == action


@given(st.text() | st.text(alphabet='set rc{}":,0123456789\n ', max_size=60))
def test_no_answer_raises(text: str) -> None:
    """Whatever is written is an action or none."""
    action = read_action(text)

    assert action is None or all(isinstance(number, int) for number in action)


@pytest.mark.parametrize(
    "text",
    [
        "{" * 3_000_000,
        "r1c1" * 700_000,
        "set " * 700_000,
        "r1" + " " * 3_000_000,
        '{"r":' + "9" * 5000 + "}",
        '{"r":' + "[" * 9999 + "}",
    ],
)
def test_enormous_answers_are_answered(text: str) -> None:
    """Millions of characters that say nothing are no action (a quadratic search would not come back)."""
    assert read_action(text) is None
