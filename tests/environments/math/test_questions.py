"""Generated questions have the answers they are said to have."""

import ast
import operator
import re
from fractions import Fraction
from math import comb, factorial

import pytest

from coevo.environments.math.plain_number import plain_number
from coevo.environments.math.questions import generated
from coevo.environments.math.scoring import Scorer


def _numbers(text: str) -> list[int]:
    return [int(part) for part in re.findall(r"-?\d+", text)]


def test_a_longer_list_begins_with_the_shorter_and_repeats_nothing() -> None:
    """There is one sequence, and no question is asked twice in it."""
    many = generated(600)
    assert generated(40) == many[:40]
    assert len({question for question, _ in many}) == 600


def test_every_kind_is_asked_alike() -> None:
    """Among the first fifteen each kind stands once."""
    openings = {" ".join(question.split()[:3]) for question, _ in generated(15)}
    assert len(openings) >= 12


def test_powers_are_what_they_are() -> None:
    """Recomputed from the text alone."""
    found = [pair for pair in generated(300) if pair[0].startswith("What is the remainder of")]
    assert len(found) >= 15
    for question, answer in found:
        base, exponent, modulus = _numbers(question)
        value = 1
        for _ in range(exponent):
            value = value * base % modulus
        assert int(answer) == value


def test_paths_are_what_they_are() -> None:
    """Counted step by step instead of by binomials."""
    found = [pair for pair in generated(300) if pair[0].startswith("A path")]
    for question, answer in found:
        _, _, width, height, x, y = _numbers(question)
        ways = {(0, 0): 1}
        for column in range(width + 1):
            for row in range(height + 1):
                if (column, row) != (0, 0):
                    before = ways.get((column - 1, row), 0) + ways.get((column, row - 1), 0)
                    ways[column, row] = 0 if (column, row) == (x, y) else before
        assert int(answer) == ways[width, height]
        assert int(answer) < comb(width + height, width)


def test_factorials_are_divided() -> None:
    """The stated power divides, the next does not."""
    for question, answer in (pair for pair in generated(300) if pair[0].startswith("Find the largest $k$")):
        base, number = _numbers(question)
        assert factorial(number) % base ** int(answer) == 0
        assert factorial(number) % base ** (int(answer) + 1) != 0


def test_roots_are_roots() -> None:
    """The polynomial of the question vanishes at the answer, and nowhere above it."""
    for question, answer in (pair for pair in generated(300) if pair[0].startswith("Find the largest root")):
        text = question.split("$")[1].replace("^", "**").replace(" ", "")
        code = compile(ast.parse(re.sub(r"(\d)x", r"\1*x", text), mode="eval"), "polynomial", "eval")
        values = {x: eval(code, {"__builtins__": {}}, {"x": x}) for x in range(-50, 51)}
        assert max(x for x, value in values.items() if value == 0) == int(answer)


def test_fractions_add_up() -> None:
    """Recomputed from the text, in lowest terms."""
    for question, answer in (pair for pair in generated(300) if pair[0].startswith("Compute")):
        terms = [Fraction(int(a), int(b)) for a, b in re.findall(r"frac\{(\d+)\}\{(\d+)\}", question)]
        value = operator.sub(operator.add(*terms[:2]), terms[2])
        parts = _numbers(answer)
        assert Fraction(parts[0], parts[1] if len(parts) == 2 else 1) == value
        assert len(parts) == 1 or parts[1] == value.denominator


def test_every_answer_is_a_plain_number() -> None:
    """So that every one has to be given as a number."""
    assert all(plain_number(answer, with_unit=False) for _, answer in generated(600))


def test_the_formulas_of_a_question_never_earn() -> None:
    """Neither alone, nor with what the question says to do to them: an answer to a question is none of its parts."""
    pytest.importorskip("math_verify")
    scorer, tried = Scorer(), 0
    for question, answer in generated(600):
        for formula in re.findall(r"\$([^$]+)\$", question):
            last = re.findall(r"\d+", question)[-1]
            for echo in (
                formula,
                f"{formula} \\bmod {last}",
                f"{formula} mod {last}",
                f"({formula})",
                f"v = {formula}",
            ):
                # A name that is said to be a number, as $a_0 = 3$, is that number.
                if plain_number(echo) is None:
                    assert not scorer.score(answer, echo).is_correct, (question, echo)
                    tried += 1
    assert tried > 1000
    assert scorer._judge is None
