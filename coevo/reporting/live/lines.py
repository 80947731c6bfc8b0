"""One line of an event log as an event, at the least cost: a page of a long run waits for little else."""

import json
import re
from typing import Any

from coevo.records.event_log import Event

_KIND = re.compile(rb'\{"kind": ?"(\w+)"')
_HEAD = re.compile(rb'\{"kind":"completion","id":"([^"\\]*)","text":"')
_TAIL = re.compile(rb'","finish":"(\w+)","tokens":(\d+),"clock":\{"time":([-+.\dEe]+)\}\}\n')

_decode = json.JSONDecoder().raw_decode


def kind_of(line: bytes) -> bytes:
    """The kind of an event whose line begins with it, as those of every log do; else nothing."""
    found = _KIND.match(line)
    return found[1] if found else b""


def event_of(line: bytes) -> Event:
    """The event of a whole line.

    The text of a completion, which is most of a log, is left empty where the line is written as logs are: `text_of`
    reads it. Inside a string a quotation mark has a backslash before it, so what `_TAIL` looks for is in no text.

    Raises:
        ValueError: If it is none.
        RecursionError: If it is nested too deep.
    """
    event = _completion(line) or _any(line)
    if not isinstance(event, dict) or not isinstance(event.get("kind"), str):
        raise ValueError("not an object with a kind")
    return event


def text_of(line: bytes, name: str) -> str:
    """The text of the completion of a name; empty where the line is no longer that."""
    try:
        event = json.loads(line)
        return str(event["text"]) if event["id"] == name else ""
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""


def _completion(line: bytes) -> dict[str, Any] | None:
    if not (head := _HEAD.match(line)):
        return None
    if not (tail := _TAIL.fullmatch(line, line.rfind(b'","finish":"'))):
        return None
    name, finish, tokens, time = head[1].decode(), tail[1].decode(), int(tail[2]), float(tail[3])
    return {"kind": "completion", "id": name, "text": "", "finish": finish, "tokens": tokens, "clock": {"time": time}}


def _any(line: bytes) -> Any:
    text = line.decode(errors="surrogatepass")
    try:
        # What `json.loads` does besides, looking for other encodings and for space around, takes as long again.
        event, end = _decode(text)
        if text[end:] == "\n":
            return event
    except ValueError:
        pass
    return json.loads(line)
