"""What an environment may return: the types of the contract, checked where its answers come in."""

import json
import math
from collections.abc import Sequence
from typing import Any, get_args, get_type_hints

from coevo.interfaces import Message, Step

_SHOWN = 60
"""Characters of a value that a finding quotes."""
ROLES = get_args(get_type_hints(Message)["role"])


class BrokenContractError(Exception):
    """An environment does what the contract forbids; the text says what, and where."""


def checked_messages(messages: Any, what: str) -> tuple[Message, ...]:
    """Messages that an agent can answer.

    Raises:
        BrokenContractError: For anything else.
    """
    if isinstance(messages, str) or not isinstance(messages, Sequence) or not messages:
        raise BrokenContractError(f"{what}: expected messages for the agent, got {shown(messages)}")
    for message in messages:
        _check_message(message, what)
    if messages[-1].role == "assistant":
        raise BrokenContractError(f"{what}: the last message is the assistant's, there is nothing to answer")
    return tuple(messages)


def _check_message(message: Any, what: str) -> None:
    if not isinstance(message, Message):
        raise BrokenContractError(f"{what}: expected a coevo.interfaces.Message, got {shown(message)}")
    if message.role not in ROLES:
        raise BrokenContractError(f"{what}: expected a role of {', '.join(ROLES)}, got {message.role!r}")
    if not isinstance(message.content, str) or not message.content.strip():
        raise BrokenContractError(f"{what}: expected a message that says something, got {shown(message.content)}")


def check_step(step: Any, what: str) -> Step:
    """The step, if it has the right types.

    Raises:
        BrokenContractError: For anything else.
    """
    if not isinstance(step, Step):
        raise BrokenContractError(f"{what}: expected a coevo.interfaces.Step, got {shown(step)}")
    if isinstance(step.reward, bool) or not isinstance(step.reward, int | float) or not math.isfinite(step.reward):
        raise BrokenContractError(f"{what}: expected a finite number as reward, got {shown(step.reward)}")
    if not isinstance(step.done, bool) or not isinstance(step.truncated, bool):
        raise BrokenContractError(f"{what}: expected done and truncated to be true or false")
    if not isinstance(step.info, dict):
        raise BrokenContractError(f"{what}: expected a dict as info, got {shown(step.info)}")
    if (problem := plain_json(step.info)) is not None:
        raise BrokenContractError(f"{what}: info has to be plain JSON, {problem}")
    if not isinstance(step.messages, tuple | list):
        raise BrokenContractError(f"{what}: expected a tuple of messages, got {shown(step.messages)}")
    for message in step.messages:
        _check_message(message, what)
    return step


def plain_json(value: Any) -> str | None:
    """Why a mapping does not come back the same from JSON (tuples may come back as lists); None if it does."""
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        return f"got {shown(value)}: {error}"
    return None if json.loads(text) == _listed(value) else f"got {shown(value)}, which comes back changed"


def _listed(value: Any) -> Any:
    """The value as JSON has it, where that says the same."""
    if isinstance(value, dict):
        return {key: _listed(each) for key, each in value.items()}
    return [_listed(each) for each in value] if isinstance(value, list | tuple) else value


def shown(value: Any) -> str:
    """A value on one line: its beginning and its length, if it is long."""
    text = value if isinstance(value, str) else repr(value)
    return repr(value) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}… ({len(text):,} characters)"
