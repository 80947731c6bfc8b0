"""What the responses of an OpenAI-compatible server mean. Pure functions, no network.

An answer is believed as far as it goes: only `finish_reason` "stop" says that it is whole. Reasoning is no part of it,
so that a draft is not taken for the program: `reasoning_content` is ignored, and a text that begins with reasoning goes
on after its `</think>`, or with nothing if that never comes. Tokens of reasoning are counted.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from coevo.engines.endpoint.refusals import RefusedError, UnansweredError, one_line, refusal_of

_REASONING = re.compile(r"\A\s*(?:<think>)?.*?(?:</think>\s*|\Z)", re.DOTALL)

MOST_TOKENS = 2**40
"""More than any call takes: a server that counts more has not counted."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one answer; `cached` is part of `prompt`. An estimate is a token per four bytes, rounded up."""

    prompt: int
    cached: int
    completion: int
    is_estimate: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: its text, whether it is whole, and what the server calls the reason of its end."""

    text: str
    finish: Literal["stop", "length"]
    reason: str


def read_document(payload: bytes) -> dict[str, Any]:
    """The JSON object of a response.

    Raises:
        UnansweredError: If it is none.
    """
    try:
        document = json.loads(payload)
    except (ValueError, RecursionError):
        shown = one_line(payload.decode("utf-8", "replace"))
        raise UnansweredError(f"no JSON but {shown!r}" if shown else "an empty body") from None
    if not isinstance(document, dict):
        raise UnansweredError(f"no JSON object but {one_line(json.dumps(document))!r}")
    return document


def read_answer(document: Mapping[str, Any]) -> Answer:
    """The first choice of a response.

    Raises:
        RefusedError: If it holds an error instead, which counts as status 502 unless it names one.
        UnansweredError: If it holds neither.
    """
    choice = _choice(document)
    if error := document.get("error") or choice.get("error"):
        raise RefusedError(refusal_of(error, 502))
    if not choice:
        raise UnansweredError("a response without choices")
    reason = choice.get("finish_reason")
    message = choice.get("message")
    content = message.get("content") if isinstance(message, dict) else choice.get("text")
    return Answer(answer_text(_joined(content)), "stop" if reason == "stop" else "length", one_line(str(reason)))


def answer_text(content: str) -> str:
    """A text after the reasoning it begins with, and without lone surrogates, which no file could hold.

    Reasoning begins with `<think>`, or with the text where a chat template has written that already.
    """
    text = content.encode("utf-8", "replace").decode()
    if "</think>" in text or text.lstrip().startswith("<think>"):
        return _REASONING.sub("", text, count=1)
    return text


def read_usage(document: Mapping[str, Any]) -> Usage | None:
    """The tokens a response says it took; None unless it says so of prompt and completion."""
    usage = document.get("usage")
    if not isinstance(usage, dict):
        return None
    prompt, completion = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if prompt is None or completion is None:
        return None
    details = usage.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else None
    return Usage(prompt, min(cached or 0, prompt), completion)


def estimated_usage(prompt: str, document: Mapping[str, Any]) -> Usage:
    """What an answer took of which the server does not say it; reasoning counts where it is shown."""
    choice = _choice(document)
    message = choice.get("message")
    parts = [choice.get("text")]
    if isinstance(message, dict):
        parts = [message.get("reasoning_content"), message.get("content")]
    return Usage(_estimate(prompt), 0, _estimate("".join(map(_joined, parts))), is_estimate=True)


def _choice(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The first choice, or an empty one where there is none."""
    choices = document.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    return choice if isinstance(choice, dict) else {}


def _joined(content: Any) -> str:
    """A content, which some servers give as a list of parts; only parts of text count."""
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _count(value: Any) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS
    return value if is_count else None


def _estimate(text: str) -> int:
    return -(-len(text.encode("utf-8", "replace")) // 4)
