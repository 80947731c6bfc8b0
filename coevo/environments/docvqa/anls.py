"""ANLS, the score of document question answering: how near an answer's spelling comes to a reference's.

Biten et al. 2019, arXiv:1905.13648, equation 1 (average normalised Levenshtein similarity, threshold τ = 0.5). Texts
are compared as lower-case letters and digits, so that punctuation and currency signs neither earn nor cost anything.
"""

import re
from collections.abc import Iterable

THRESHOLD = 0.5
"""A normalised distance of this or more earns nothing."""

_SEPARATORS = re.compile(r"[^a-z0-9]+")


def anls(answer: str, references: Iterable[str]) -> float:
    """The similarity of an answer to the reference that it is nearest to.

    Args:
        answer: What was answered; an empty answer earns 0.
        references: The answers that are right, in any order.

    Returns:
        1 - d for the least d over the references, where d is the Levenshtein distance over the length of the longer
        text, both normalised; 0 where that d is 0.5 or more. In {0} ∪ (0.5, 1], maximised.
    """
    given = normalise(answer)
    return max((_similarity(given, normalise(reference)) for reference in references), default=0.0)


def is_accurate(score: float) -> bool:
    """Whether an ANLS counts as right in an accuracy: above 0.5."""
    return score > THRESHOLD


def normalise(text: str) -> str:
    """Lower-case words of a-z and 0-9, one space between them; a text without any is left in lower case, stripped."""
    lower = text.lower().strip()
    return _SEPARATORS.sub(" ", lower).strip() or lower


def levenshtein(first: str, second: str) -> int:
    """Least number of characters to insert, delete or replace to turn one text into the other.

    Time is the product of the lengths, memory the shorter length.
    """
    long, short = (first, second) if len(first) >= len(second) else (second, first)
    above = list(range(len(short) + 1))
    for row, character in enumerate(long, 1):
        here = [row]
        for column, other in enumerate(short, 1):
            here.append(min(above[column] + 1, here[-1] + 1, above[column - 1] + (character != other)))
        above = here
    return above[-1]


def _similarity(given: str, wanted: str) -> float:
    longest = max(len(given), len(wanted))
    # The lengths alone bound the distance from below: an endless answer is not compared letter by letter.
    if not given or not wanted or abs(len(given) - len(wanted)) >= THRESHOLD * longest:
        return 0.0
    distance = levenshtein(given, wanted) / longest
    return 1.0 - distance if distance < THRESHOLD else 0.0
