r"""The one rule for what an episode's answer is, the same in training and evaluation.

An answer of the agent ends the episode if it has a line "Final answer: …" (or "Answer: …", which many data sets ask
for), no action, and a command has run before. Of several such lines the last counts; in it, the last \boxed{…}, else
all that follows the colon. A box elsewhere is no answer, and nothing else is ever taken for one.
"""

import re

_LINE = re.compile(r"^[ \t*_#>`-]*(?:final[ \t]+)?answer[ \t*_`]*[:：]", re.IGNORECASE | re.MULTILINE)
_BRACE = re.compile(r"(?<!\\)[{}]")
_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
_ORNAMENT = " \t\r\n*_`"
_DOLLARS = (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"))


def final_answer(text: str) -> str | None:
    """The final answer in what an agent says.

    Args:
        text: Without its thoughts; of any content.

    Returns:
        Empty where the line or the box has nothing in it; None without such a line.
    """
    lines = list(_LINE.finditer(text))
    if not lines:
        return None
    rest = text[lines[-1].end() :]
    box = last_box(rest)
    # A box may begin on the line after, or go on there; an answer without one ends with its line.
    return bare(box if box is not None else rest.lstrip(" \t*_`").partition("\n")[0])


def last_box(text: str) -> str | None:
    r"""What stands in the last \boxed{…} whose braces close; None without one."""
    closing = _closing_braces(text)
    for found in reversed(list(_BOX.finditer(text))):
        if (end := closing.get(found.end() - 1)) is not None:
            return text[found.end() : end]
    return None


def bare(text: str) -> str:
    """A text without Markdown, dollar signs and a final full stop around it."""
    text = text.strip(_ORNAMENT).removesuffix(".").rstrip()
    for opening, closing in _DOLLARS:
        if text.startswith(opening) and text.endswith(closing) and len(text) >= len(opening + closing):
            return bare(text[len(opening) : -len(closing)])
    return text


def _closing_braces(text: str) -> dict[int, int]:
    """Place of each brace that opens -> place of the one that closes it; one pass, whatever an agent has written."""
    opened: list[int] = []
    closing: dict[int, int] = {}
    for found in _BRACE.finditer(text):
        at = found.start()
        if found[0] == "{":
            opened.append(at)
        elif opened:
            closing[opened.pop()] = at
    return closing
