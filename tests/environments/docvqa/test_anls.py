"""ANLS: known values, and its laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.environments.docvqa.anls import anls, is_accurate, levenshtein, normalise

SMALL = st.text(alphabet="ab 1,", max_size=8)


@pytest.mark.parametrize(
    ("answer", "references", "score"),
    [
        ("1999", ["1999"], 1.0),
        ("  12 MARCH, 2004. ", ["12 march 2004"], 1.0),
        ("$1,204.50", ["1 204 50"], 1.0),
        ("Smyth", ["Smith"], 0.8),
        ("abcd", ["abxy"], 0.0),
        ("abcde", ["abcxy"], 0.6),
        ("Smyth", ["Jones", "Smith", "Smithers"], 0.8),
        ("", ["Smith"], 0.0),
        ("", [""], 0.0),
        ("!?", ["!?"], 1.0),
        ("%", ["%"], 1.0),
        ("Smith", [], 0.0),
        ("x" * 1_000_000, ["Smith"], 0.0),
    ],
)
def test_known_values(answer, references, score):
    """Hand-computed values: case, punctuation, the threshold at one half, several references, nothing at all."""
    assert anls(answer, references) == pytest.approx(score)


@pytest.mark.parametrize(
    ("first", "second", "distance"),
    [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("flaw", "lawn", 2), ("abc", "abc", 0), ("ab", "ba", 2)],
)
def test_known_distances(first, second, distance):
    """Textbook distances."""
    assert levenshtein(first, second) == distance


def recursive(first: str, second: str) -> int:
    """The definition of the distance, word for word."""
    if not first or not second:
        return len(first) + len(second)
    if first[0] == second[0]:
        return recursive(first[1:], second[1:])
    return 1 + min(recursive(first[1:], second), recursive(first, second[1:]), recursive(first[1:], second[1:]))


@given(st.text(alphabet="ab", max_size=5), st.text(alphabet="ab", max_size=5))
def test_the_distance_is_its_definition(first, second):
    """The table gives what the recursion gives."""
    assert levenshtein(first, second) == recursive(first, second)


@given(SMALL, SMALL, SMALL)
def test_the_distance_is_a_metric(first, second, third):
    """Zero for equal texts alone, symmetric, triangle inequality."""
    assert (levenshtein(first, second) == 0) == (first == second)
    assert levenshtein(first, second) == levenshtein(second, first)
    assert levenshtein(first, third) <= levenshtein(first, second) + levenshtein(second, third)


@given(st.text(), st.lists(st.text(), max_size=3))
def test_a_score_is_zero_or_above_one_half(answer, references):
    """The range, for any texts whatever."""
    score = anls(answer, references)
    assert score == 0.0 or 0.5 < score <= 1.0
    assert is_accurate(score) == (score > 0)


@given(st.text(), st.lists(st.text(), max_size=2))
def test_a_reference_itself_scores_one(answer, others):
    """The right answer earns everything unless there is nothing in it, whatever else would be right."""
    assert anls(answer, [*others, answer]) == (1.0 if answer.strip() else 0.0)


@given(SMALL, st.lists(SMALL, max_size=3), SMALL)
def test_another_reference_never_costs(answer, references, another):
    """The maximum over the references can only grow."""
    assert anls(answer, [*references, another]) >= anls(answer, references)


@given(SMALL, SMALL)
def test_the_shortcut_by_length_changes_nothing(answer, reference):
    """The score is that of equation 1, computed without any shortcut."""
    first, second = normalise(answer), normalise(reference)
    distance = levenshtein(first, second) / max(len(first), len(second), 1)
    expected = 1 - distance if first and second and distance < 0.5 else 0.0
    assert anls(answer, [reference]) == expected


@given(st.text())
def test_normalising_twice_is_normalising_once(text):
    """A normal form."""
    assert normalise(normalise(text)) == normalise(text)
