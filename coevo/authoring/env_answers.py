"""What an agent may say: answers that know nothing of an environment, to see how it bears them.

An answer is a function of the turn and of what the agent was told, so that a play can be repeated.
"""

import zlib
from collections.abc import Callable, Sequence

from coevo.interfaces import Message

Answerer = Callable[[int, Sequence[Message]], str]
"""Turn (from 0) and what the agent was told last -> its answer."""

MANY = 1_000_000
"""Characters of the longest answers."""

HOSTILE = {
    "nothing": "",
    "white space": " \n\t\r\v\f\x85\u2028 ",
    "1 MB of one letter": "a" * MANY,
    "1 MB of spaces": " " * MANY + "x",
    "1 MB of line ends": "\n" * MANY + "x",
    "1 MB of digits": "9" * MANY,
    "1 MB of opened brackets": "[({<" * (MANY // 4),
    "1 MB of quotes": "\"'`" * (MANY // 3),
    "every byte as a character": bytes(range(256)).decode("latin-1") * 4,
    "NUL characters": "\0action\0 1\0 2 3\0",
    "digits that are no ASCII": "² ٣ ७ ① 𝟙 ½ Ⅷ −1 1e999 0x7f 1_000 +1 nan inf",
    "emoji and combining marks": "🧑‍🔬👩‍👧 e\u0301" + "a" + "\u0301" * 500,
    "text that runs backwards": "\u202eabc\u202c \u2066x\u2069 \ufeff\u200b",
    "half a surrogate pair": "move \ud83d",
    "unclosed code": "```python\nwhile True:\n    print(",
    "stray tags": "</think></answer><tool_call>{<answer><answer></tool_call><|im_end|>",
    "JSON of no use": '{"action": {"action": [null, NaN, 1e999, {"": ""}]}, "action": "',
    "placeholders": "{0} {name} %s %n $x ${y} \\N{BULLET} \\x00 {{}} {",
}
"""Answers by what is bad about them."""


def name_of(answer: str) -> str:
    """What is bad about an answer that is one of `HOSTILE`; empty for any other, and for short ones, which say it."""
    return next((name for name, text in HOSTILE.items() if text == answer and len(text) > MANY // 2), "")


def silent(turn: int, told: Sequence[Message]) -> str:
    """Says nothing, ever."""
    return ""


def hostile(turn: int, told: Sequence[Message]) -> str:
    """Goes through `HOSTILE`, over and over."""
    return list(HOSTILE.values())[turn % len(HOSTILE)]


def echoing(turn: int, told: Sequence[Message]) -> str:
    """Says a line of what it was told, which is often an action or something like it."""
    lines = _lines(told) or ["?"]
    return lines[zlib.crc32(f"{turn} {len(lines)}".encode()) % len(lines)]


def halves(told: Sequence[Message], count: int) -> list[str]:
    """Lines of what an agent was told, cut in their middle: like actions, and none. The last ones, at most `count`."""
    return [line[: (len(line) + 1) // 2] for line in _lines(told)[-count:]]


def _lines(told: Sequence[Message]) -> list[str]:
    return [line.strip() for message in told for line in message.content.splitlines() if line.strip()]


PLAIN: dict[str, Answerer] = {"says nothing": silent, "repeats what it is told": echoing}
"""Agents whose plays are compared, by what they do."""
EVERY = PLAIN | {"says what cannot be read": hostile}
"""All agents, by what they do."""
