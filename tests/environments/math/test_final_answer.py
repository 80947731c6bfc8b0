"""What counts as the final answer."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.environments.math.final_answer import final_answer, last_box


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"Final answer: \boxed{42}", "42"),
        (r"**Final answer:** $\boxed{42}$", "42"),
        (r"Final Answer： \boxed{\frac{1}{2}}.", r"\frac{1}{2}"),
        ("so\nAnswer: 42", "42"),
        ("Answer: $x^2$", "x^2"),
        ("Answer: $$7$$.", "7"),
        (r"Answer: \(7\)", "7"),
        ("Final answer: 3.14", "3.14"),
        ("Final answer: 12.", "12"),
        (r"Final answer: \boxed{1} no, \boxed{2}", "2"),
        ("Final answer: \\boxed{1}\nFinal answer: \\boxed{2}", "2"),
        ("Final answer:\n\\boxed{5}", "5"),
        ("> Final answer: 9\nThat is all.", "9"),
        (r"Final answer: \boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"Final answer: \boxed{}", ""),
        ("Final answer:", ""),
        (r"Final answer: \boxed{4", r"\boxed{4"),
    ],
)
def test_the_answer_of_a_line(text: str, answer: str) -> None:
    """The box of the last such line, else what follows on it."""
    assert final_answer(text) == answer


@pytest.mark.parametrize("text", ["", "42", r"It is \boxed{42}", "The final answer is 42", "my answer: no"])
def test_nothing_else_is_taken_for_an_answer(text: str) -> None:
    """Neither a box elsewhere nor a sentence."""
    assert final_answer(text) is None


@given(st.text(max_size=100))
def test_any_text_is_read(text: str) -> None:
    """Nothing raises, and a box with balanced braces comes back as it stands."""
    final_answer(text)
    plain = "".join(character for character in text if character.isalnum())
    assert final_answer(f"{text}\nFinal answer: \\boxed{{{plain}}}") == plain


@given(st.lists(st.sampled_from([r"\boxed{", r"\fbox {", "{", "}", r"\{", r"\}", "x", "\\"]), max_size=30).map("".join))
def test_the_last_box_is_the_one_a_slow_reader_finds(text):
    """Brace by brace from every box, which takes time like the square of the text; the reader itself takes one pass."""
    content = None
    for found in re.finditer(r"\\(?:boxed|fbox)\s*\{", text):
        depth = 1
        for at in range(found.end(), len(text)):
            if text[at] in "{}" and text[at - 1] != "\\":
                depth += 1 if text[at] == "{" else -1
                if depth == 0:
                    content = text[found.end() : at]
                    break
    assert last_box(text) == content
