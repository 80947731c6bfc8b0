"""Read what an agent wants run from its answer: a line `Action:` and JSON that names the tool and its arguments.

The form is that of the ReAct agents of Agentic-ESOpt. Models break it in a few ways that leave no doubt about what was
meant, and those are read: Markdown around it, arguments as a string of JSON, line breaks and quotes that are not
escaped, and an ending that is missing. Whether a tool was used is never told from text: only what ran counts.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from coevo.environments.texts import encodable

BASH = "bash"

_THOUGHTS = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL | re.IGNORECASE)
_END_OF_THOUGHTS = "</think>"
_INVENTED = re.compile(r"^[ \t*_#>`]*observation\b[^\n:：]{0,40}[:：]", re.IGNORECASE | re.MULTILINE)
_ACTION = re.compile(r"^[ \t*_#>`-]*action[ \t*_`]*[:：]", re.IGNORECASE | re.MULTILINE)
_BEFORE_JSON = re.compile(r"[\s*_`]*(?:```+\w*)?\s*")
_NAME = re.compile(r'"name"\s*:\s*"([^"\n]*)"')
_COMMAND = re.compile(r'"command"\s*:\s*"')
_CLOSING = re.compile(r'"\s*+(?:\}\s*+)++(?:```++\s*+)?\Z')
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "/": "/"}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Action:
    """What an agent wants run.

    Attributes:
        command: For bash.
        problem: Why it cannot be run, as the agent is told; empty where it can.
    """

    command: str
    problem: str = ""


def spoken(text: str) -> str:
    """What an answer says: without its thoughts, and up to where it begins to invent an observation; `encodable`."""
    text = _THOUGHTS.sub("", encodable(text))
    # The opening tag may stand in the prompt.
    text = text.rpartition(_END_OF_THOUGHTS)[2]
    return _INVENTED.split(text, maxsplit=1)[0]


def read_action(text: str) -> Action | None:
    """The first action of an answer.

    Args:
        text: What `spoken` gives.

    Returns:
        None if there is no line `Action:` in it. Never raises, whatever the text.
    """
    found = _ACTION.search(text)
    if found is None:
        return None
    rest = text[found.end() :]
    start = _BEFORE_JSON.match(rest)
    rest = rest[start.end() :] if start else rest
    try:
        values, _ = json.JSONDecoder(strict=False).raw_decode(rest)
    except (ValueError, RecursionError):
        return _relaxed(rest)
    return _checked(values)


def _checked(values: Any) -> Action:
    if not isinstance(values, dict):
        return _unreadable("it is not a JSON object")
    arguments = values.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments, strict=False)
        except (ValueError, RecursionError):
            arguments = {"command": arguments}
    command = arguments.get("command") if isinstance(arguments, dict) else None
    return _called(values.get("name"), command)


def _called(name: Any, command: Any) -> Action:
    if not isinstance(name, str) or name.strip().lower() != BASH:
        return Action("", f"There is no tool {json.dumps(name)[:80]}; the only tool is bash.")
    if not isinstance(command, str):
        return _unreadable('"arguments" has no text "command"')
    if not command.strip():
        return Action("", "The command is empty.")
    # The text could be encoded before, but JSON may spell out what cannot.
    return Action(encodable(command))


def _relaxed(text: str) -> Action:
    """Take the text between the quotes of `"command": "…"` as it stands, up to the closing braces or the end."""
    name, opening = _NAME.search(text), _COMMAND.search(text)
    if name is None or opening is None:
        return _unreadable("it is not valid JSON")
    body = text[opening.end() :]
    closing = _CLOSING.search(body)
    body = body[: closing.start()] if closing else body.rstrip()
    return _called(name[1], _ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[0]), body))


def _unreadable(why: str) -> Action:
    return Action(
        "",
        f"The action could not be read: {why}. It has this form:\n"
        'Action:\n{"name": "bash", "arguments": {"command": "…"}}',
    )
