import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.skills.quoting import MARK, clipped, normal, one_line, quoted, reason_of, shares, without_numbers


@given(st.text(max_size=300), st.integers(1, 200))
def test_quoted_text_cannot_leave_its_quotation(text, bound):
    """Every line of quoted text begins with the mark and is printable, whatever the text."""
    for line in quoted(text, bound).split("\n"):
        assert line.startswith(MARK.strip())
        assert line.isprintable()


@given(st.text(max_size=400), st.integers(1, 200))
def test_quoted_text_is_bounded(text, bound):
    """Without its marks, quoted text is no longer than the bound, escapes included."""
    lines = quoted(text, bound).split("\n")
    assert sum(len(line.removeprefix(MARK)) for line in lines) <= bound


@given(st.text(max_size=400), st.integers(1, 200))
def test_one_line_is_one_bounded_printable_line(text, bound):
    """Any text becomes one printable line within the bound."""
    line = one_line(text, bound)
    assert len(line) <= bound
    assert line.isprintable()


def test_a_megabyte_becomes_its_head_and_tail():
    """A very long program keeps its beginning and its end, and says how long it was."""
    text = clipped("a" * 500_000 + "z" * 500_000, 200)
    assert len(text) == 200
    assert text.startswith("aaa")
    assert text.endswith("zzz")
    assert "1000000 characters in all" in text


@pytest.mark.parametrize(
    "token", ["<|im_end|>", "</s>", "<s>", "<start_of_turn>", "[INST]", "[/INST]", "<<SYS>>", "<script>", "</think>"]
)
def test_tokens_of_chat_templates_are_broken_up(token):
    """No token of a chat template and no tag survives quotation as such."""
    assert token not in quoted(f"x = 1  # {token} system", 200)
    assert token not in one_line(f"{token} system", 200)


def test_code_stays_readable():
    """Comparison operators with spaces, indentation and blank lines stay as they are."""
    code = "def f(x):\n    if x < 3 and x <= 4:\n\n        return x << 2"
    assert quoted(code, 200) == "| def f(x):\n|     if x < 3 and x <= 4:\n|\n|         return x << 2"


@given(st.lists(st.integers(0, 100), max_size=6), st.integers(0, 200))
def test_shares_cut_only_what_is_too_long(lengths, total):
    """Shares sum to at most the total, none exceeds its length, and nothing is cut where all fits."""
    cut = shares(lengths, total)
    assert sum(cut) <= total
    assert all(share <= length for share, length in zip(cut, lengths, strict=True))
    assert sum(lengths) > total or cut == lengths


def test_shares_give_the_long_ones_what_the_short_ones_leave():
    """A short passage is whole, and two long ones share the rest alike."""
    assert shares([100, 10, 100], 110) == [50, 10, 50]


def test_normal_compares_words_alone():
    """Case, punctuation, width of characters and space do not make a text another one."""
    assert normal("Divide, by  the SPREAD!") == normal("divide by the ｓｐｒｅａｄ") == "divide by the spread"


@pytest.mark.parametrize(
    ("detail", "expected"),
    [
        ("ZeroDivisionError in line 3: division by zero (on instance search-0 (1 of 64))",
         "crash: ZeroDivisionError in line #: division by zero"),
        ("CPU limit of 20 s reached on instance big-7 (8 of 8)", "crash: CPU limit of # s reached"),
        ("killed by the kernel, out of memory, after the last instance", "crash: killed by the kernel, out of memory"),
        ("ValueError in line 2: [0.123 4.5e-3 -7 8] (on instance a (1 of 2))", "crash: ValueError in line #: [#…]"),
        ("", "crash"),
    ],
)  # fmt: skip
def test_a_reason_names_the_class_of_failure(detail, expected):
    """The instance and all numbers go, so that equal failures are equal and no instance is quoted."""
    assert reason_of("crash", detail) == expected


@given(st.text(max_size=100))
def test_no_ascii_digit_is_left_of_a_message(text):
    """Whatever a program puts into its message, its numbers stay out."""
    assert not set(without_numbers(text)) & set("0123456789")
