"""Messages between the engine and its workers: JSON objects as bytes, so nothing is unpickled on either side.

Engine to worker: `{"do": "generate", "ticket", "requests"}`, `{"do": "commit", "updates"}`, `{"do": "fingerprint"}`,
`{"do": "export", "folder"}`. Worker to engine: `{"ready": true}` first of all, then `{"ticket", "completions",
"done"}`, `{"fingerprint"}`, `{"exported"}`, or `{"error"}` with one line for the user. Python's JSON keeps 64-bit
integers and every float exactly.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from multiprocessing.connection import Connection
from typing import Any

from coevo import interfaces
from coevo.interfaces import Completion, Member, Partition, Request, Sampling, Update

Message = dict[str, Any]


def send(connection: Connection, message: Message) -> None:
    """Send one message; blocks while the pipe is full."""
    connection.send_bytes(json.dumps(message).encode())


def receive(connection: Connection) -> Message:
    """The next message; blocks until there is one.

    Raises:
        EOFError: If the other side is gone.
    """
    message: Message = json.loads(connection.recv_bytes())
    return message


def pack_request(request: Request) -> Message:
    """A request as JSON values."""
    return asdict(request)


def unpack_request(values: Mapping[str, Any]) -> Request:
    """The request that `pack_request` was given."""
    member = values["member"]
    return Request(
        id=values["id"],
        text=values["text"],
        seed=values["seed"],
        member=None if member is None else unpack_member(member),
        sampling=Sampling(**{**values["sampling"], "stop": tuple(values["sampling"]["stop"])}),
        messages=tuple(interfaces.Message(**message) for message in values["messages"]),
    )


def pack_member(member: Member) -> Message:
    """A member as JSON values."""
    return asdict(member)


def unpack_member(values: Mapping[str, Any]) -> Member:
    """The member that `pack_member` was given."""
    return Member(**{**values, "partition": _partition(values["partition"])})


def pack_completion(completion: Completion) -> Message:
    """A completion as JSON values."""
    return asdict(completion)


def unpack_completion(values: Mapping[str, Any]) -> Completion:
    """The completion that `pack_completion` was given."""
    return Completion(**values)


def pack_update(update: Update) -> Message:
    """An update as JSON values."""
    return asdict(update)


def unpack_update(values: Mapping[str, Any]) -> Update:
    """The update that `pack_update` was given."""
    tuples = {key: tuple(values[key]) for key in ("directions", "coefficients", "subspaces")}
    return Update(**{**values, **tuples, "partition": _partition(values["partition"])})


def _partition(values: Mapping[str, Any] | None) -> Partition | None:
    return None if values is None else Partition(**values)
