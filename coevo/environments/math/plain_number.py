r"""Answers that are one plain number: what stands for one, and what only can be made into one.

Where a question asks for a number, its formula is no answer, nor is a list of guesses. So an answer to it has to be one
number: an integer, a decimal, a fraction, a mixed number or scientific notation, with at most a sign, thousands commas,
a percent or degree sign and a unit. In an equation it is the last side; the others are names (x = 3), or numbers that
are equal to it (7/2 = 3.5). What is only about equal (1/3 \approx 0.333) is an aside.
"""

import re
from fractions import Fraction

_SIGN = r"[+\-−]?\s*"
_DECIMAL = r"(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)"
_IN_BRACES = rf"\{{\s*{_SIGN}{_DECIMAL}\s*\}}"
_PART = rf"(?:{_DECIMAL}|{_IN_BRACES}|\(\s*{_SIGN}{_DECIMAL}\s*\))"
_FRACTION = rf"\\[dtc]?frac\s*(?:{_IN_BRACES}|\d)\s*(?:{_IN_BRACES}|\d)"
_POWER = r"(?:\\times|\\cdot|[×*·])\s*10\s*\^\s*(?:\{\s*[+\-−]?\d+\s*\}|[+\-−]?\d+)"
_NUMERAL = "|".join((
    rf"(?:\d+\s*)?{_FRACTION}",
    rf"\{{?\s*{_DECIMAL}\s*\\over\s*{_DECIMAL}\s*\}}?",
    rf"{_PART}\s*/\s*{_PART}",
    rf"[1-9](?:\.\d+)?\s*{_POWER}",
    r"\d(?:\.\d+)?[eE][+-]?\d+",
    _DECIMAL,
))  # fmt: skip
_SUFFIX = r"(?:\s*(?:\\?%|\^\s*\{?\s*\\circ\s*\}?|\\degree))?(?:\s*_\s*\{?\s*10\s*\}?)?"
_SQUARED = r"(?:\s*\^\s*(?:[23]|\{\s*[23]\s*\}))?"
_UNIT_IN_TEXT = rf"(?:\s*\\(?:text|textrm|mathrm|mbox)\s*\{{[^{{}}\d=,;]*\}}{_SQUARED})?"
_UNIT = rf"(?:{_UNIT_IN_TEXT}|\s*[A-Za-z][A-Za-z .]*{_SQUARED})"
_BARE = re.compile(rf"{_SIGN}(?:{_NUMERAL}){_SUFFIX}{_UNIT_IN_TEXT}")
_WITH_UNIT = re.compile(rf"(?!.*\b(?:or|and)\b){_SIGN}(?:{_NUMERAL}){_SUFFIX}{_UNIT}", re.DOTALL)

_NOTHING = re.compile(r"\\!|\\?\$|[€£¥]")
_SPACE = re.compile(r"\\[,;: ]|~|\\q?quad\b|\\displaystyle\b|\\left(?![a-z])|\\right(?![a-z])")
_WRAPPER = re.compile(
    r"(?:\\(?:boxed|fbox|text|textbf|textit|textrm|mathbf|mathrm|mbox|boldsymbol|bm)\s*)?\{(.*)\}|\(([^,]*)\)",
    re.DOTALL,
)
"""What may stand around a number; commas in parentheses belong to the coordinates of a point."""
_ABOUT = re.compile(r"\\approx|\\simeq|≈")
_OPERATORS = re.compile(r"\\(?:[dtc]?frac|cdot|times|sqrt|div|pm|mp|binom|over|bmod|pmod)|\bmod\b|!")
_NAME = re.compile(r"(?!.*(?:\b(?:or|and)\b|\\text))[A-Za-z\\(|∠][^;,]*", re.DOTALL)
_ARGUMENTS = re.compile(r"\([^()]*\)")

_EXACT = re.compile(
    r"(?P<sign>[+-]?)(?:(?P<above>\d+)(?:/(?P<below>\d+))?|(?P<decimal>\d*\.\d+)"
    r"|\\[dt]?frac\{(?P<over>\d+)\}\{(?P<under>\d+)\})",
    re.ASCII,
)
"""An integer, a fraction a/b or \\frac{a}{b}, or a decimal."""


def plain_number(text: str, *, with_unit: bool = True) -> str | None:
    """The one number that an answer comes to, tidied up: without a name before it, or brackets around it.

    Args:
        text: Of any content.
        with_unit: Whether words may follow, as in 5 cm. Without, 3x is not taken for a number: it may be a formula.

    Returns:
        None where there is no number, more than one, or something that has yet to be computed.
    """
    exact, *about = _ABOUT.split(_tidy(text), maxsplit=1)
    *others, last = exact.split("=")
    number = _unwrapped(last, with_unit)
    if number is None and about and "=" not in about[0]:
        others, number = [*others, last], _unwrapped(about[0], with_unit)
    if number is None or not all(_may_stand_before(number, other.strip()) for other in others):
        return None
    return number


def exact_value(text: str) -> Fraction | None:
    """The value of an integer, a fraction or a decimal; None for anything else."""
    found = _EXACT.fullmatch(text)
    if found is None:
        return None
    parts = found.groupdict()
    # Of text, because a decimal is exact only so.
    above, below = parts["above"] or parts["over"] or parts["decimal"], parts["below"] or parts["under"] or "1"
    try:
        denominator = int(below)
        return Fraction(parts["sign"] + above) / denominator if denominator else None
    except ValueError:  # Python turns no text of more than 4,300 digits into an integer
        return None


def _tidy(text: str) -> str:
    text = _NOTHING.sub("", text.replace("{,}", ",").replace("°", r"^\circ"))
    return " ".join(_SPACE.sub(" ", text).split())


def _unwrapped(text: str, with_unit: bool) -> str | None:
    """The number that a text is, whatever stands around it."""
    pattern = _WITH_UNIT if with_unit else _BARE
    while True:
        text = text.strip().rstrip(".,;").strip()
        if pattern.fullmatch(text):
            return re.sub(r"(?<=\d),(?=\d{3})", "", text).replace("−", "-")
        wrapper = _WRAPPER.fullmatch(text)
        if wrapper is None:
            return None
        text = wrapper[1] if wrapper[1] is not None else wrapper[2]


def _may_stand_before(number: str, other: str) -> bool:
    """Whether another side of an equation is a name, or a number of the same value."""
    same = _unwrapped(other, True)
    if same is not None:
        value = exact_value(same)
        return value is not None and value == exact_value(number)
    is_numeric = not re.search(r"[A-Za-z]", _OPERATORS.sub("", other))
    return not other or (not is_numeric and _NAME.fullmatch(_ARGUMENTS.sub("", other)) is not None)
