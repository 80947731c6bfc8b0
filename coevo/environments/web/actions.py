"""The action language of web agents: one action on one line.

    click(12)            hover(12)            type(12, "some text")      select(12, "an option")
    press(Enter)         scroll(down)         answer("the answer")       stop

and, where a task has more than one page, `back` and `forward`. Numbers are those in brackets on the page. What an
agent says before the last line is its own business, as are a code fence or the word `Action:` around the line, and what
it thinks on that line before `</think>`.

Close to what WebArena-Lite's agents may do (click, type, search, hover, scroll, press, select, back, forward, exit).
"""

import json
import re
from dataclasses import dataclass
from typing import Literal

from coevo.environments.texts import encodable

Verb = Literal["click", "hover", "type", "select", "press", "scroll", "answer", "stop", "back", "forward"]

TEXT_CHARS = 2000
"""Longest text of an action; a longer one is not read."""
KEYS = (
    *("Enter", "Tab", "Escape", "Backspace", "Delete", "Space"),
    *("ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "PageDown"),
)
FORMS = (
    'click(12), hover(12), type(12, "text"), select(12, "option"), press(Enter), scroll(up), scroll(down), '
    'answer("text") or stop'
)

_WITH_TEXT = ("type", "select")
_LINE = re.compile(r"(?:action\s*:\s*)?([a-z]+)\s*(?:\((.*)\))?\s*;?", re.IGNORECASE)
_ARGUMENT = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\[?\w+\]?)\s*(,|$)""")
_END_OF_THOUGHTS = "</think>"


@dataclass(frozen=True, slots=True)
class Action:
    """One action.

    Attributes:
        verb: What is done.
        element: The element it is done to, as the page names it; empty if none.
        text: What is typed, chosen, pressed or answered, or the direction of scrolling.
    """

    verb: Verb
    element: str = ""
    text: str = ""

    def __str__(self) -> str:
        """The action in its own language."""
        if self.verb in ("stop", "back", "forward"):
            return self.verb
        if self.verb in ("press", "scroll"):
            return f"{self.verb}({self.text})"
        quoted = json.dumps(self.text, ensure_ascii=False)
        if self.verb == "answer":
            return f"answer({quoted})"
        return f"{self.verb}({self.element}, {quoted})" if self.verb in _WITH_TEXT else f"{self.verb}({self.element})"


def read_action(text: str) -> Action | str:
    """The action that the last line of an answer asks for, or what is wrong with it, in one sentence.

    The text of an action is `encodable`.
    """
    lines = [line.strip().strip("`").strip() for line in encodable(text[-20_000:]).split("\n")]
    last = next((line for line in reversed(lines) if line), "")
    # A tag inside the text of an action ends no thoughts: the longest end of the line that is an action counts.
    while isinstance(read := _read_line(last), str) and _END_OF_THOUGHTS in last:
        last = last.partition(_END_OF_THOUGHTS)[2].strip().strip("`").strip()
    return read


def _read_line(line: str) -> Action | str:
    found = _LINE.fullmatch(line)
    if found is None:
        return f"The last line is no action. It has to be one of {FORMS}."
    arguments = _arguments(found[2] or "")
    action = None if arguments is None else _build(found[1].lower(), arguments)
    if action is None:
        return f"The action cannot be read. It has to be one of {FORMS}."
    return action if len(action.text) <= TEXT_CHARS else f"The text of an action has at most {TEXT_CHARS} characters."


def _arguments(text: str) -> list[str] | None:
    found: list[str] = []
    position = 0
    while position < len(text):
        match = _ARGUMENT.match(text, position)
        if match is None or (match[2] == "," and match.end() == len(text)):
            return None
        found.append(_unquoted(match[1]))
        position = match.end()
    return found


def _unquoted(argument: str) -> str:
    if argument[0] not in "\"'":
        return argument.strip("[]")
    inner = argument[1:-1]
    if argument[0] == "'":
        inner = re.sub(r'\\\'|(?<!\\)"', lambda found: "'" if found[0] == "\\'" else '\\"', inner)
    try:
        # The text could be encoded before, but JSON may spell out what cannot.
        return encodable(str(json.loads(f'"{inner}"', strict=False)))
    except json.JSONDecodeError:
        return inner


def _build(verb: str, arguments: list[str]) -> Action | None:
    match verb, arguments:
        case (("click" | "hover"), [element]) if element.isalnum():
            return Action(verb, element)
        case (("type" | "select"), [element, text]) if element.isalnum():
            return Action(verb, element, text)
        case "press", [key]:
            return _press(key)
        case "scroll", [direction] if direction.lower() in ("up", "down"):
            return Action("scroll", text=direction.lower())
        case "answer", [text]:
            return Action("answer", text=text)
        case (("stop" | "back" | "forward"), []):
            return Action(verb)
    return None


def _press(key: str) -> Action | None:
    named = next((name for name in KEYS if name.lower() == key.lower()), "")
    if named or (len(key) == 1 and key.isprintable() and key != " "):
        return Action("press", text=named or key)
    return None
