"""Which columns of a row hold the question and its answer, and how either is read out of them."""

import re
from collections.abc import Sequence
from typing import Any

from coevo.environments.math.final_answer import bare, final_answer, last_box
from coevo.environments.math.questions import Pair
from coevo.environments.math.tables import Row
from coevo.environments.texts import encodable
from coevo.errors import ContentError

QUESTIONS = ("question", "problem", "prompt")
ANSWERS = ("answer", "final_answer", "solution", "reward_model.ground_truth", "ground_truth")

_HASHES = re.compile(r"####\s*(.+)")
_NO_NUMBER = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
"""What tools write for a number that is missing or too large: nothing can be equal to it."""
_LONG = 200
"""Characters beyond which an answer is a worked solution, in which the answer has to be marked."""


def find_columns(row: Row, question: str, answer: str) -> tuple[str, str]:
    """The names of the columns of questions and answers.

    Args:
        row: Any row of the file.
        question: As the user says, or empty to guess.
        answer: As the user says, or empty to guess.

    Raises:
        ContentError: If there are no such columns, naming those that are there.
    """
    return _found(row, question, QUESTIONS, "question"), _found(row, answer, ANSWERS, "answer")


def read_pair(row: Row, columns: tuple[str, str]) -> Pair:
    """The question and the answer of a row.

    A question is a text or a list of messages, of which the last counts. An answer is a number or a text; of a worked
    solution it is what the last box holds, or what follows `####` or "Answer:".

    Raises:
        InstanceFileError: If one of the two is not there, or of another kind.
    """
    question, answer = (_value(row, column) for column in columns)
    return encodable(_question(row, columns[0], question)), encodable(_answer(row, columns[1], answer))


def _found(row: Row, asked: str, known: Sequence[str], what: str) -> str:
    for name in (asked,) if asked else known:
        if _value(row, name) is not None:
            return name
    expected = asked or " or ".join(known)
    there = ", ".join(map(str, row.values)) or "none"
    raise ContentError(
        f"{row.file}: expected a column {expected} with the {what} of row {row.number}, the columns there are {there}; "
        f"name it with --option {what}_column=NAME"
    )


def _value(row: Row, column: str) -> Any:
    if column in row.values:
        return row.values[column]
    value: Any = row.values
    for part in column.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _question(row: Row, column: str, value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[-1], dict):
        value = value[-1].get("content")
    if not isinstance(value, str) or not value.strip():
        raise row.fault(f"expected a question in {column}, got {value!r:.80}")
    return value.strip()


def _answer(row: Row, column: str, value: Any) -> str:
    if isinstance(value, float):
        text = str(int(value)) if value.is_integer() else str(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        text = str(value)
    else:
        text = _marked(value) if isinstance(value, str) else ""
    if not text or _NO_NUMBER.fullmatch(text):
        raise row.fault(
            f"expected an answer in {column}: a number, a formula or a solution with a box, got {value!r:.80}"
        )
    return text


def _marked(text: str) -> str:
    """The answer in a text: what is marked as such, else the text if it is short enough to be one."""
    box, hashes = last_box(text), _HASHES.findall(text)
    if box is not None:
        return bare(box)
    if hashes:
        return bare(hashes[-1])
    return final_answer(text) or (bare(text) if len(text) <= _LONG else "")
