"""Idioms: each is found where it is used and nowhere else, and no text at all raises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.idioms import IDIOMS, idioms_of

EXAMPLES = {
    "x.mean(axis=0)": {"mean"},
    "np.median(x)": {"mean"},
    "np.std(x)": {"spread"},
    "sum(x)": {"sum"},
    "x.max()": {"max"},
    "np.argmax(x)": {"argmax"},
    "np.maximum(x, y)": {"bound"},
    "np.clip(x, 0, 1)": {"bound"},
    "np.sort(x)": {"sort"},
    "x.argsort()": {"sort"},
    "x.argsort().argsort()": {"sort", "rank"},
    "np.argsort(np.argsort(x, axis=1), axis=1)": {"sort", "rank"},
    "np.exp(-x)": {"exp"},
    "np.log1p(x)": {"log"},
    "np.sqrt(x)": {"root"},
    "abs(x)": {"abs"},
    "np.linalg.norm(x)": {"norm"},
    "np.cos(x)": {"angle"},
    "np.where(m, x, y)": {"choice"},
    "t.count(2)": {"count"},
    "len(x)": {"size"},
    "np.arange(n)": {"position"},
    "zip(x, y)": {"zip"},
    "x / len(y)": {"size", "scale"},
    "x / x.max()": {"max", "scale"},
    "x / y": {"ratio"},
    "1 / (x + 0.01)": {"ratio"},
    "x // y": {"ratio"},
    "x ** 2": {"power"},
    "x % y": {"remainder"},
    "x * y": {"product"},
    "0.5 * x": set(),
    "-1 * x": set(),
    "x[:, None]": {"pairwise"},
    "x[None, :]": {"pairwise"},
    "x[:3]": {"slice"},
    "x[::2]": {"slice"},
    "x[:, 0]": set(),
    "x < y": {"threshold"},
    "x if m else y": {"branch"},
    "[a for a in x]": {"comprehension"},
    "sum(a for a in x)": {"sum", "comprehension"},
    "x + y - z": set(),
    "np.exp": set(),
    "exp": set(),
}


@pytest.mark.parametrize("source", EXAMPLES)
def test_expressions_have_the_idioms_they_use(source: str) -> None:
    """Hand-made expressions, each with all of its idioms."""
    assert idioms_of(source) == EXAMPLES[source]


def test_examples_cover_the_list() -> None:
    """No idiom is without an example, and every name is one lower-case word."""
    assert set().union(*EXAMPLES.values()) == set(IDIOMS)
    assert len(set(IDIOMS)) == len(IDIOMS)
    assert all(idiom.isascii() and idiom.isalpha() and idiom.islower() for idiom in IDIOMS)


def test_statements_count_as_expressions_do() -> None:
    """Assignments in place and `if` statements use the idioms of their operators."""
    assert idioms_of("x /= y.sum()") == {"sum", "scale"}
    assert idioms_of("x /= 2") == {"ratio"}
    assert idioms_of("x **= 2") == {"power"}
    assert idioms_of("if m:\n    x = 1") == {"branch"}


@pytest.mark.parametrize("source", ["def f(:", "return (", "\x00", "(" * 5000, ""])
def test_text_that_is_no_program_has_none(source: str) -> None:
    """What does not parse uses nothing."""
    assert idioms_of(source) == frozenset()


@given(st.lists(st.sampled_from(sorted(EXAMPLES)), max_size=6))
def test_a_program_has_the_idioms_of_its_statements(statements: list[str]) -> None:
    """The idioms of a sequence of statements are the union of theirs, wherever in a function they stand."""
    union = frozenset().union(*(idioms_of(statement) for statement in statements))
    body = "".join(f"    y = {statement}\n" for statement in statements)

    assert idioms_of("\n".join(statements)) == union
    assert idioms_of(f"def f(x, m, n, t, z):\n{body}    return y\n") == union


@given(st.text(max_size=60))
def test_no_text_raises(text: str) -> None:
    """Any text at all has a set of known idioms."""
    assert idioms_of(text) <= set(IDIOMS)
