"""What is one plain number, and what only comes to one."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.environments.math.plain_number import exact_value, plain_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("7", "7"), ("+7", "+7"), ("- 7", "- 7"), ("−7", "-7"), ("007", "007"), ("7.", "7"), ("7;", "7")),
        *(("3.5", "3.5"), (".5", ".5"), ("$3.5$", "3.5"), ("1,000", "1000"), ("1{,}000,000.5", "1000000.5")),
        *(("7/2", "7/2"), (r"\frac{7}{2}", r"\frac{7}{2}"), (r"\dfrac72", r"\dfrac72"), (r"3\frac12", r"3\frac12")),
        *((r"{7 \over 2}", r"{7 \over 2}"), ("(7)/(2)", "(7)/(2)"), (r"\frac{-7}{2}", r"\frac{-7}{2}")),
        *(("(7)", "7"), ("{7}", "7"), (r"\left( 7 \right)", "7"), (r"\boxed{7}", "7"), (r"\text{7}", "7")),
        *(("x = 3.5", "3.5"), ("a+b=7", "7"), ("f(1,2)=7", "7"), ("x=y=7", "7"), (r"\theta = 7", "7")),
        *((r"\frac{7}{2} = 3.5", "3.5"), ("x = 7/2 = 3.5", "3.5"), (r"\frac{1}{3} \approx 0.33", r"\frac{1}{3}")),
        *((r"x \approx 7", "7"), ("≈ 7", "7"), (r"x = 1/3 \approx 0.33", "1/3")),
        *(("50%", "50%"), (r"50\%", r"50\%"), ("90°", r"90^\circ"), (r"\$5", "5"), ("5 €", "5")),
        *(("5 cm", "5 cm"), (r"5\text{ cm}^2", r"5\text{ cm}^2"), ("14_{10}", "14_{10}")),
        *((r"3 \times 10^{5}", r"3 \times 10^{5}"), (r"6.02\cdot10^{23}", r"6.02\cdot10^{23}"), ("1e-5", "1e-5")),
    ],
)
def test_one_number_is_found(text: str, number: str) -> None:
    """In the usual forms, without what stands around it."""
    assert plain_number(text) == number


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "three", "1=2=3", "x=1=3", "1=x=3", "1+2=3", "3=x", "x=3, y=4", "3,3,3", "1, 2, 3", "12,34", "3 4"),
        *("3 or 4", "x=3 or x=4", "3 or x=3", "3 and 4", "[3]", r"\{3\}", r"x\in\{3\}", "(1,234)", "1:2", r"3\pm0"),
        *("1+2", "4-1", "3*1", r"3\cdot1", "2^{10}", "2^10", "5!", "--3", "-(-3)", "1/2/3", "1/(1+1)", "17 mod 5"),
        *(r"\sqrt{9}", r"\frac{1}{2}+\frac{1}{3}", r"\frac{1+1}{2}", r"\frac{1}{\frac{1}{2}}", r"2^{16}\bmod 7"),
        *(r"3\text{ or }4", "}3{", "{3", "3}", "\0", "1110_2", r"12\cdot10^5", r"3\times10^5\times2"),
    ],
)
def test_anything_else_is_no_number(text: str) -> None:
    """Something left to compute, several values, an equation whose sides differ."""
    assert plain_number(text) is None


@pytest.mark.parametrize("text", ["3x", "2a", "5 cm"])
def test_without_units_words_make_a_formula(text: str) -> None:
    """The right answer 3x is not the number 3 in a unit."""
    assert plain_number(text, with_unit=False) is None
    assert plain_number(text) == text


NUMBERS = st.fractions(-999, 999, max_denominator=99)


def written(value: Fraction) -> str:
    """As LaTeX."""
    sign, top = "-" if value < 0 else "", abs(value.numerator)
    return f"{sign}{top}" if value.denominator == 1 else f"{sign}\\frac{{{top}}}{{{value.denominator}}}"


@given(
    NUMBERS,
    st.sampled_from(["{}", "({})", "x={}", "x = y = {}", "${}$", "{{{}}}", "{} \\approx 7", r"\left({}\right)."]),
)
def test_a_written_number_keeps_its_value(value: Fraction, form: str) -> None:
    """Whatever stands around it."""
    number = plain_number(form.format(written(value)))
    assert number is not None
    assert exact_value(number) == value


@given(
    st.lists(NUMBERS, min_size=2, max_size=4),
    st.sampled_from(["+", "-", r"\cdot ", "*", "^", r"\times ", ",", ":", " "]),
)
def test_numbers_joined_are_no_number(values: list[Fraction], joint: str) -> None:
    """No formula, list or ratio of numbers is one, but for thousands (1,234) and powers of ten after one digit."""
    text = joint.join(map(written, values))
    is_thousands = joint == "," and all(0 <= v <= 999 and v.denominator == 1 for v in values[1:])
    is_mixed = joint == " " and len(values) == 2 and values[1] > 0 and values[1].denominator > 1
    if not (is_thousands or (is_mixed and values[0].denominator == 1)):
        assert plain_number(text) is None


@given(st.text(st.characters(), max_size=60) | st.text("0123456789.,=+-/{}()\\^_e%$ x", max_size=60))
def test_any_text_is_read(text: str) -> None:
    """Nothing raises, and what is found is a number without words too, or has a unit."""
    number = plain_number(text)
    assert number is None or any(character.isdecimal() for character in number)
    exact_value(text)


def test_a_number_of_any_length_is_read() -> None:
    """Beyond 4,300 digits Python makes no integer of a text, and none of it is exact."""
    assert exact_value("9" * 5000) is None
    assert exact_value("1/" + "9" * 5000) is None
    assert exact_value("1/0") is None
    assert plain_number("9" * 5000) == "9" * 5000
