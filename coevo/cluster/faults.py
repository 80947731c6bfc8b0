"""What goes wrong in a cluster, and errors of coevo's as plain values, so that they cross it as what they are."""

from collections.abc import Mapping
from typing import Any

from coevo.errors import CoevoError, ConfigError, ContentError, ModelError, RunError, SandboxError, one_line

PLAIN = (ConfigError, ContentError, ModelError, SandboxError, RunError)
"""Errors that can be made again from their message alone."""


MOST_CHARS = 400
"""Of a message of somebody else's, such as Ray."""
TOKEN_ADVICE = "set RAY_AUTH_MODE=token, and have the token in RAY_AUTH_TOKEN or ~/.ray/auth_token"
"""What to do for a cluster that wants to see a token; `ray start` says of one that it does."""


class ActorLost(CoevoError):  # noqa: N818 - what happened, not a fault of what it was asked
    """An actor is gone, with its process or its node: says nothing of what it was asked."""


class NoRoom(ActorLost):
    """There are no free resources for an actor."""


_CROSSING = (*PLAIN, NoRoom, ActorLost)
_KINDS: dict[str, type[CoevoError]] = {kind.__name__: kind for kind in _CROSSING}


def pack_error(error: BaseException) -> dict[str, Any]:
    """An error as a header."""
    kind = next((known for known in _CROSSING if isinstance(error, known)), None)
    if isinstance(error, ConnectionError | EOFError):  # of something that an engine is on the other end of
        return {"error": ModelError.__name__, "message": one_line(f"{type(error).__name__}: {error}", MOST_CHARS)}
    if kind is None:
        return {"error": "", "message": one_line(f"{type(error).__name__}: {error}", MOST_CHARS)}
    return {"error": kind.__name__, "message": str(error)}


def raise_packed(header: Mapping[str, Any], where: str = "") -> None:
    """Raise what a header holds, if it holds an error.

    Args:
        header: From `pack_error`, or any other.
        where: Where it happened, for the message.

    Raises:
        CoevoError: As it was.
        RuntimeError: For what was a fault of coevo's.
    """
    if "error" in header:
        kind = _KINDS.get(header["error"], RuntimeError)
        raise kind(f"{where}{header['message']}")
