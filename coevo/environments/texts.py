r"""Text that can be written down: what agents, pages and data sets say may hold half of a surrogate pair.

JSON can spell half of a pair (`"\ud800"`) and UTF-8 cannot: prompts, traces and files would fail on it later, far from
where it came in. So it is replaced where text comes in.
"""

from typing import Any


def encodable(text: str) -> str:
    """The text with a question mark in the place of each lone surrogate; any other text as it is."""
    return text.encode(errors="replace").decode()


def encodable_json(value: Any) -> Any:
    """A JSON value with every text in it, names included, made `encodable`."""
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, list):
        return [encodable_json(item) for item in value]
    if isinstance(value, dict):
        return {encodable_json(name): encodable_json(item) for name, item in value.items()}
    return value
