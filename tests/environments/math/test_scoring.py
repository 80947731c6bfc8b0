"""Answers are compared as mathematics."""

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from os import kill

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from coevo.environments.math.scoring import Scorer, Verdict, same_text
from coevo.errors import ExtraMissingError

pytest.importorskip("math_verify")


@pytest.fixture(scope="module")
def scorer() -> Iterator[Scorer]:
    """One scorer, whose process starts once."""
    scorer = Scorer()
    yield scorer
    scorer.close()


@pytest.mark.parametrize(
    ("expected", "given", "is_correct", "method"),
    [
        ("42", "42", True, "exact"),
        ("42", " 042", True, "exact"),
        ("42", "+42", True, "exact"),
        ("42", "-42", False, "exact"),
        ("42", "43", False, "exact"),
        ("10" * 300, "10" * 300, True, "exact"),
        ("42", "42.0", True, "exact"),
        (".5", "1/2", True, "exact"),
        (r"\frac{1}{2}", "0.5", True, "exact"),
        (r"\frac{1}{2}", r"\dfrac{2}{4}", True, "exact"),
        (r"-\frac{206}{2401}", "-206/2401", True, "exact"),
        (r"\frac{1}{2}", "1/3", False, "exact"),
        ("1/0", "1/1", False, "math-verify"),
        (r"\frac{1}{3}", "0.333333333333", True, "math-verify"),
        (r"\frac{1}{3}", "0.334", False, "math-verify"),
        ("1234", "1,234", True, "exact"),
        ("1,234", "1234", True, "exact"),
        ("0.5", "50%", True, "math-verify"),
        ("50", r"50\%", True, "math-verify"),
        ("5", r"5\text{ cm}", True, "math-verify"),
        ("300000", r"3 \times 10^{5}", True, "math-verify"),
        (r"\frac{7}{2}", r"3\frac{1}{2}", True, "math-verify"),
        (r"\frac{7}{2}", "x = 3.5", True, "exact"),
        ("3", "1=2=3", False, "no number"),
        ("3", "3,3,3", False, "no number"),
        ("3", r"\{3\}", False, "no number"),
        ("3", "1+2", False, "no number"),
        ("12", "1,2", False, "no number"),
        ("12", "{1}{2}", False, "no number"),
        ("(1,234)", "(1, 234)", True, "math-verify"),
        ("3x", "x+x+x", True, "math-verify"),
        ("x^2+2x+1", "(x+1)^2", True, "math-verify"),
        (r"2\sqrt{2}", r"\sqrt{8}", True, "math-verify"),
        ("7", "x=7", True, "exact"),
        ("2x", "y=2x", True, "math-verify"),
        ("(1, 2)", "(2, 1)", False, "math-verify"),
        (r"\{1,2\}", r"\{2,1\}", True, "math-verify"),
        ("3", "", False, "no number"),
        ("3", "3}+{0", False, "no number"),
        ("x", "x}+{0", False, "text"),
        ("x", "{{{", False, "text"),
        ("3", "3" * 3000, False, "text"),
    ],
)
def test_a_table_of_answers(expected: str, given: str, is_correct: bool, method: str, scorer: Scorer) -> None:
    """The verdict, and how it was found."""
    assert scorer.score(expected, given) == Verdict(is_correct, method)  # type: ignore[arg-type]


@given(st.integers(), st.integers())
def test_integers_need_no_process(first: int, second: int) -> None:
    """They are equal exactly when they are, however large."""
    assert Scorer().score(str(first), str(second)) == Verdict(first == second, "exact")


@given(st.text(max_size=30))
def test_a_text_is_itself(text: str) -> None:
    """Unless there is nothing in it."""
    assert same_text(text, text) == bool(text.translate(str.maketrans("", "", "{}, \t\n$")).rstrip("."))


FRAGMENTS = [
    *(
        "{",
        "}",
        "\\",
        "\\frac",
        "\\frac{",
        "\\sqrt",
        "\\boxed{",
        "\\text{",
        "^",
        "_",
        "=",
        ",",
        ".",
        "-",
        "+",
        "/",
        "%",
        "e",
    ),
    *(
        "1",
        "9" * 29,
        "e999971",
        "e-999999999999999999999",
        "inf",
        "nan",
        "sNaN123",
        "1_000",
        "٣",
        "½",
        "²",
        "x",
        "!",
        " or ",
    ),
    *("\0", "\n", "\ud800", "\udfff\ud800", "\u202e", "$", "∞", "\\begin{pmatrix}", "&", "\\infty", "[", "(", "'"),
]
HOSTILE = st.lists(st.sampled_from(FRAGMENTS), max_size=8).map("".join) | st.text(st.characters(), max_size=30)


@given(st.sampled_from(["5", "0.5", r"\frac{1}{3}", "x+1", "(1,2)", "text", "1e5"]) | HOSTILE, HOSTILE)
@example("5", "{" + "9" * 29 + "e999971")
@example("{1e999999", "9" * 29 + "e999971}")
@settings(max_examples=150)
def test_whatever_is_answered_it_is_right_or_wrong(scorer: Scorer, expected: str, given: str) -> None:
    """No text raises, as an expected answer or a given one: an agent cannot talk its task out of the average."""
    verdict = scorer.score(expected, given)
    assert verdict.is_correct in (True, False)
    assert isinstance(same_text(expected, given), bool)


@given(st.from_regex(r"[+-]?\{?[0-9]{1,40}\.?[0-9]{0,9}(e[+-]?[0-9]{1,20})?\}?", fullmatch=True), st.floats())
def test_texts_of_any_size_are_compared(text: str, number: float) -> None:
    """Exponents that no decimal can have, and differences that none can hold, are no match."""
    assert same_text(text, repr(number)) in (True, False)
    assert same_text(text, "5e999999") in (True, False)


TERMS = st.lists(st.fractions(0, 50, max_denominator=40), min_size=2, max_size=4)


@given(TERMS, st.sampled_from([" + ", " - ", r" \cdot "]))
def test_the_formula_of_a_number_never_earns(terms: list[Fraction], joint: str) -> None:
    """To write down what is to be computed is not to compute it; told without asking math-verify."""
    value = terms[0]
    for term in terms[1:]:
        value = value + term if joint == " + " else value - term if joint == " - " else value * term
    formula = joint.join(f"\\frac{{{term.numerator}}}{{{term.denominator}}}" for term in terms)
    assert Scorer().score(str(value), formula) == Verdict(False, "no number")


def test_decimals_by_text() -> None:
    """Where nothing else can be read, near decimals are equal."""
    assert same_text("0.1", "{0.10000000001}")
    assert not same_text("0.1", "0.11")
    assert not same_text("nan", "inf")


@pytest.mark.parametrize(
    ("expected", "given"),
    [("42", "042"), ("7", "8"), ("1/2", r"\frac{2}{4}"), ("0.5", "1/2"), ("-3", "3"), ("1/3", "2/3"), ("10/5", "2.0")],
)
def test_what_is_certain_is_what_math_verify_says(expected: str, given: str, scorer: Scorer) -> None:
    """The short cut for plain numbers changes no verdict."""
    request = {"expected": expected, "given": given}
    assert scorer._ask(request) == scorer.score(expected, given).is_correct
    assert scorer.score(expected, given).method == "exact"


def test_an_answer_that_takes_for_ever_is_wrong(scorer: Scorer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process is ended when its time is over."""
    assert scorer.score("x+1", "1+x").is_correct
    with monkeypatch.context() as patch:
        patch.setattr(scorer, "_wall_s", 1.0)
        assert scorer.score(r"\sqrt{2}", "9^{9^{9^{9}}}") == Verdict(False, "given up")
    assert scorer._judge is None


def test_a_process_that_was_killed_is_replaced(scorer: Scorer) -> None:
    """Nobody's answer is wrong because somebody else ended the process."""
    assert scorer.score("x+1", "1+x").is_correct
    assert scorer._judge is not None
    kill(scorer._judge.pid, signal.SIGKILL)
    assert scorer.score("y+1", "1+y") == Verdict(True, "math-verify")


def test_answers_are_compared_from_any_thread(scorer: Scorer) -> None:
    """Rollouts are threads, and none but the main one may set alarms."""
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(scorer.score, "2x", "x+x").result() == Verdict(True, "math-verify")


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the extra that brings it."""
    from coevo.environments.math.scoring import require_math_verify

    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ExtraMissingError, match=r"math-verify.*coevo\[agents\]"):
        require_math_verify()
