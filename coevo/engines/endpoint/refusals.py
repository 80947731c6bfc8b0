"""What a server says instead of an answer: read into one line, and judged. Pure functions, no network."""

import json
import re
from dataclasses import dataclass, replace
from typing import Any

from coevo.errors import escaped

LONGEST_MESSAGE = 200
"""Characters of a server's own words that are repeated to the user."""

_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|maximum model length|prompt is too long"
    r"|exceeds? (?:[\w']+ ){0,3}context|context (?:size|length|window)(?: has been)? exceeded",
    re.IGNORECASE,
)
_FILTERED = re.compile(r"content_filter|content_policy_violation|content management policy", re.IGNORECASE)
_MARKUP = re.compile(r"<(style|script)\b.*?</\1>|<[^>]*>", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A server's refusal.

    Attributes:
        status: HTTP status, or the one that an error in the body of an ordinary response names.
        message: Its own words, one line of at most `LONGEST_MESSAGE` printable characters.
        words: The whole message with code, type and parameter: what is searched for reasons.
        param: The parameter it says it is about, or "".
    """

    status: int
    message: str
    words: str
    param: str = ""

    @property
    def is_transient(self) -> bool:
        """Whether the same request may succeed later. An account without credit says 429 too, and does not."""
        if self.status == 429:
            return "insufficient_quota" not in self.words
        return self.status in (408, 409, 425) or (self.status >= 500 and self.status not in (501, 505))

    @property
    def is_from_between(self) -> bool:
        """Whether something before the model gave up waiting: what the model did, and is paid for, nobody knows."""
        return self.status in (408, 502, 504, 522, 524)

    @property
    def is_about_one_prompt(self) -> bool:
        """Whether this prompt is too long for the model, or filtered: others may be answered all the same."""
        if self.status not in (400, 403, 413, 422, 500):
            return False
        return bool(_TOO_LONG.search(self.words) or _FILTERED.search(self.words))

    def names(self, parameter: str) -> bool:
        """Whether it is about a parameter: the one it says it is about or, without that, one it mentions."""
        if self.param:
            return self.param == parameter
        return re.search(rf"(?<!\w){parameter}(?!\w)", self.words) is not None


class RefusedError(Exception):
    """The server has answered with a refusal; `retry_after_s` is when it wants to be asked again, if it says so."""

    def __init__(self, refusal: Refusal, retry_after_s: float | None = None):
        super().__init__(f"status {refusal.status}: {refusal.message}")
        self.refusal = refusal
        self.retry_after_s = retry_after_s


class UnansweredError(Exception):
    """There is no response, or none that holds an answer; the text says what there is instead.

    `was_sent` is whether the message may have reached the server, which then may have worked on it all the same.
    """

    def __init__(self, reason: str, *, was_sent: bool = True):
        super().__init__(reason)
        self.was_sent = was_sent


def read_refusal(status: int, payload: bytes) -> Refusal:
    """The refusal in a response, whatever form it has: JSON of several fashions, a web page, nothing at all."""
    text = payload.decode("utf-8", "replace")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return Refusal(status, one_line(text) or "without a word", text)
    found = document.get("error") or document if isinstance(document, dict) else document
    return replace(refusal_of(found, status), status=status)


def refusal_of(error: Any, status: int) -> Refusal:
    """A refusal from `{"message": …, "code": …}`, from FastAPI's `{"detail": …}`, or from a bare text.

    Args:
        error: The error object of a response, decoded.
        status: What it counts as where its own code is no HTTP status.
    """
    if not isinstance(error, dict):
        return Refusal(status, one_line(str(error)), str(error))
    found = next((error[key] for key in ("message", "detail", "msg", "error") if error.get(key)), error)
    text = found if isinstance(found, str) else json.dumps(found)
    code, param = error.get("code"), error.get("param")
    if isinstance(code, int) and 400 <= code < 600:
        status = code
    words = " ".join([text, *(str(error[key]) for key in ("code", "type", "param") if error.get(key))])
    return Refusal(status, one_line(text), words, param if isinstance(param, str) else "")


def one_line(text: str) -> str:
    """The first `LONGEST_MESSAGE` characters of a text without markup, on one line, all of them printable."""
    return escaped(" ".join(_MARKUP.sub(" ", text).split()))[:LONGEST_MESSAGE]
