r"""The one rule for what an episode's answer is, the same in training and evaluation.

An answer of the agent ends the episode if it has a line "Final answer: …" (or "Answer: …", which many data sets ask
for), no action, and a command has run before. Of several such lines the last counts; in it, the last \boxed{…}, else
all that follows the colon. A box elsewhere is no answer, and nothing else is ever taken for one.
"""

import re

_LINE = re.compile(r"^[ \t*_#>`-]*(?:final[ \t]+)?answer[ \t*_`]*[:：]", re.IGNORECASE | re.MULTILINE)
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
    content = None
    for found in _BOX.finditer(text):
        end = _closing_brace(text, found.end())
        content = content if end is None else text[found.end() : end]
    return content


def bare(text: str) -> str:
    """A text without Markdown, dollar signs and a final full stop around it."""
    text = text.strip(_ORNAMENT).removesuffix(".").rstrip()
    for opening, closing in _DOLLARS:
        if text.startswith(opening) and text.endswith(closing) and len(text) >= len(opening + closing):
            return bare(text[len(opening) : -len(closing)])
    return text


def _closing_brace(text: str, start: int) -> int | None:
    depth = 1
    for at in range(start, len(text)):
        if text[at] in "{}" and text[at - 1] != "\\":
            depth += 1 if text[at] == "{" else -1
            if depth == 0:
                return at
    return None
