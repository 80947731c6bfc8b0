import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.reporting.text import DASH, count, duration, excerpt, number, percent, visible

anything = st.text(st.characters(exclude_categories=()))


@given(anything)
def test_nothing_invisible_remains(text):
    """No control, format, surrogate or unassigned character is left, but for newlines and tabs."""
    unseen = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
    assert not [c for c in visible(text) if unicodedata.category(c) in unseen and c not in "\n\t"]


@given(anything)
def test_visible_text_can_be_written(text):
    """Whatever came, what is shown is UTF-8, and stays as it is when it is made visible again."""
    shown = visible(text)
    assert shown.encode().decode() == shown == visible(shown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\n", "a\tb\n"),
        ("über √Σ 北 🙂", "über √Σ 北 🙂"),
        ("\x00", "\\x00"),
        ("\u202e", "\\u202e"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_can_be_seen_stays(text, shown):
    """Letters of any script stay; a null byte, an override and a lone surrogate are written out."""
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(None, DASH), (-0.0, "0"), (-1.5, "−1.5"), (6.41331245, "6.41331"), (1e-7, "1e−07")]
)
def test_numbers(value, shown):
    """Six digits, a real minus sign, no negative zero."""
    assert number(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(None, DASH), (0.12345, "12.35 %"), (-0.00001, "0.00 %"), (-0.5, "−50.00 %")]
)
def test_percentages(value, shown):
    """Two decimals, and no negative zero."""
    assert percent(value) == shown


@pytest.mark.parametrize(("seconds", "shown"), [(1.25, "1.2 s"), (61, "1 min 1 s"), (7380, "2 h 3 min")])
def test_durations(seconds, shown):
    """A time is shown in the unit that fits it."""
    assert duration(seconds) == shown


def test_an_excerpt_says_what_is_left_out():
    """A long text is cut and the number of characters left out is named; a short one is whole."""
    assert excerpt("abc", 3) == ("abc", "")
    assert excerpt("x" * 1500, 100) == ("x" * 100, "1,400 more characters are not shown")
    assert count(1234567) == "1,234,567"
