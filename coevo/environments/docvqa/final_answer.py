"""The one rule by which an episode is scored, the same in training and evaluation.

An answer of the agent ends the episode if it holds a line "Final answer: …", no action, and a command has been run
before. Its ANLS is the score. Nothing else earns anything: no other line is taken for the answer, and an episode that
a limit ends without it scores 0.
"""

import re

_LINE = re.compile(r"[\s*_#>`-]*final\s+answer[\s*_`]*[:：]", re.IGNORECASE)
_ORNAMENT = " \t\r*_`"
"""Markdown around the answer is no part of it."""


def final_answer(text: str) -> str | None:
    """What stands after the last "Final answer:" that begins a line, to the end of that line.

    Args:
        text: What the agent says, without its thoughts; of any content.

    Returns:
        Empty where the line ends there; None without such a line.
    """
    for line in reversed(text.splitlines()):
        found = _LINE.match(line)
        if found:
            return line[found.end() :].strip(_ORNAMENT)
    return None
