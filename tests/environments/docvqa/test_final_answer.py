"""The rule of the final answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.environments.docvqa.final_answer import final_answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Final answer: $12.50", "$12.50"),
        ("I have read it.\nFinal answer: 12 March 2004", "12 March 2004"),
        ("final ANSWER : Alice", "Alice"),
        ("Final answer：Alice", "Alice"),
        ("**Final answer:** Alice Palmer", "Alice Palmer"),
        ("**Final answer: `Alice`**", "Alice"),
        ("Final answer: Alice\nFinal answer: Bruno\nThat is all.", "Bruno"),
        ("Final answer: Alice\r\n", "Alice"),
        ("Final answer:", ""),
        ("Final answer:\nAlice", ""),
        ("The answer is Alice", None),
        ("Alice", None),
        ("Answer: Alice", None),
        ("I would say Final answer: Alice", None),
        ("", None),
    ],
)
def test_known_answers(text, answer):
    """Only a line that begins so holds the answer, and of several the last."""
    assert final_answer(text) == answer


@pytest.mark.parametrize("filling", ["\n", " ", "*", "final answer", "Final answer "])
def test_an_endless_text_is_read(filling):
    """A megabyte of what might begin such a line holds none, and does not hide the one after it."""
    endless = filling * (1_000_000 // len(filling))
    assert final_answer(endless) is None
    assert final_answer(f"{endless}\nFinal answer: Alice") == "Alice"


@given(st.text())
def test_no_text_raises(text):
    """Anything can be said; what is found is one line."""
    answer = final_answer(text)
    assert answer is None or len(answer.splitlines()) <= 1


@given(st.text(alphabet=st.characters(exclude_categories=("Cc", "Zl", "Zp", "Cs")), min_size=1))
def test_what_is_written_is_read(answer):
    """An answer on its line comes back, without Markdown around it."""
    assert final_answer(f"So it is.\nFinal answer: {answer}\n") == answer.strip(" \t\r*_`")
