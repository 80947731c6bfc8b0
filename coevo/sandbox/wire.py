"""Frames between processes: a JSON header and raw bytes. No pickle, so bytes never turn into code.

    frame := u32 header length | u64 payload length | header (JSON) | payload

Both lengths are checked against what the receiver allows before a byte is read, so that no peer can make us allocate
more. Instances travel as a header that describes them and their arrays' bytes back to back.
"""

import json
import os
import select
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.interfaces import Instance

_LENGTHS = struct.Struct("<IQ")
_ALIGNMENT = 64
MAX_HEADER = 1 << 26
MAX_PAYLOAD = 1 << 34
SENDABLE_KINDS = "biufcSU"
"""Kinds of dtype an instance may hold: numbers and fixed-width text."""


class ChannelClosedError(Exception):
    """The peer is gone, or sent something that is not a frame."""


class OwnerGoneError(Exception):
    """The process that waits for our answers is gone: there is nothing left to do."""


class DeadlineError(Exception):
    """The peer did not answer in time."""


@dataclass
class Channel:
    """One end of a two-way pipe.

    Attributes:
        read_fd: Descriptor to read frames from.
        write_fd: Descriptor to write frames to.
        watch_fd: Another pipe whose hang-up also ends a wait (the owner's), or None.
        deadline: Point of `time.monotonic()` at which a wait ends, or None.
    """

    read_fd: int
    write_fd: int
    watch_fd: int | None = None
    deadline: float | None = None

    def send(self, header: Mapping[str, Any], *payload: bytes | bytearray | memoryview) -> None:
        """Write one frame; blocks until the peer has room.

        Raises:
            ChannelClosedError: If the peer is gone.
        """
        text = json.dumps(header).encode()
        total = sum(memoryview(part).nbytes for part in payload)
        try:
            write_all(self.write_fd, _LENGTHS.pack(len(text), total) + text)
            for part in payload:
                write_all(self.write_fd, part)
        except OSError as error:
            raise ChannelClosedError(f"cannot write: {error}") from error

    def receive_header(
        self, *, max_header: int = MAX_HEADER, max_payload: int = MAX_PAYLOAD
    ) -> tuple[dict[str, Any], int]:
        """Read a frame's header; the payload, whose size is returned too, stays in the pipe.

        Raises:
            ChannelClosedError: If the peer is gone or the frame is malformed or too large.
            DeadlineError: If the deadline passes.
            OwnerGoneError: If `watch_fd` hangs up.
        """
        header_size, payload_size = _LENGTHS.unpack(self.read(_LENGTHS.size))
        if header_size > max_header or payload_size > max_payload:
            raise ChannelClosedError(f"frame of {header_size} + {payload_size} bytes exceeds what is allowed")
        try:
            header = json.loads(bytes(self.read(header_size)))
        except (ValueError, RecursionError) as error:
            raise ChannelClosedError(f"not a JSON header: {error}") from error
        if not isinstance(header, dict):
            raise ChannelClosedError("a header is a JSON object")
        return header, payload_size

    def receive(
        self, *, max_header: int = MAX_HEADER, max_payload: int = MAX_PAYLOAD
    ) -> tuple[dict[str, Any], bytearray]:
        """Read one whole frame; raises like `receive_header`."""
        header, size = self.receive_header(max_header=max_header, max_payload=max_payload)
        return header, self.read(size)

    def read(self, size: int) -> bytearray:
        """Exactly `size` bytes; raises like `receive_header`."""
        data = bytearray(size)
        view = memoryview(data)
        done = 0
        while done < size:
            self._wait()
            count = os.readv(self.read_fd, [view[done:]])
            if count == 0:
                raise ChannelClosedError("the peer closed the pipe")
            done += count
        return data

    def _wait(self) -> None:
        if self.watch_fd is None and self.deadline is None:
            return
        poll = select.poll()
        poll.register(self.read_fd, select.POLLIN)
        if self.watch_fd is not None:
            poll.register(self.watch_fd, 0)
        left = None if self.deadline is None else max(0.0, self.deadline - time.monotonic())
        events = dict(poll.poll(None if left is None else left * 1000))
        if not events:
            raise DeadlineError("no answer before the deadline")
        if self.watch_fd in events:
            raise OwnerGoneError("the owner hung up")


def write_all(descriptor: int, data: bytes | bytearray | memoryview) -> None:
    """Write every byte to a blocking descriptor."""
    view = memoryview(data).cast("B") if len(data) else memoryview(b"")
    while len(view):
        view = view[os.write(descriptor, view) :]


def read_to_end(descriptor: int) -> bytes:
    """Every byte until the writers have closed."""
    parts = []
    while part := os.read(descriptor, 1 << 16):
        parts.append(part)
    return b"".join(parts)


def pack_instances(instances: Sequence[Instance]) -> tuple[dict[str, Any], list[memoryview]]:
    """Header and payload parts that carry instances; `unpack_instances` is the inverse.

    Raises:
        ValueError: If an instance holds something other than numbers and numeric arrays.
    """
    parts: list[memoryview] = []
    offset = 0
    described = []
    for instance in instances:
        data: dict[str, Any] = {}
        for key, value in instance.data.items():
            value = value.item() if isinstance(value, np.generic) else value
            if isinstance(value, np.ndarray):
                data[key] = {"dtype": value.dtype.str, "shape": value.shape, "offset": offset}
                for part in _array_bytes(value, f"{instance.name}.{key}"):
                    parts.append(part)
                    offset += part.nbytes
            elif isinstance(value, int | float):
                data[key] = value
            else:
                found = f"{type(value).__name__} as {instance.name}.{key}"
                raise ValueError(f"instance data is numbers and arrays, got {found}")
        described.append({"name": instance.name, "seed": int(instance.seed), "data": data})
    return {"instances": described}, parts


def _array_bytes(array: NDArray[Any], where: str) -> list[memoryview]:
    """The array's bytes in C order, and padding so that the next array starts aligned."""
    if array.dtype.kind not in SENDABLE_KINDS:
        raise ValueError(f"instance arrays are numeric, got dtype {array.dtype} as {where}")
    if array.nbytes == 0:
        return []
    body = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    return [body, memoryview(bytes(-body.nbytes % _ALIGNMENT))]


def unpack_instances(header: Mapping[str, Any], payload: bytearray) -> list[Instance]:
    """The instances a trusted peer packed; their arrays are writable views of `payload`."""

    def value(item: Any) -> NDArray[Any] | float | int:
        if not isinstance(item, dict):
            number: float | int = item
            return number
        dtype = np.dtype(item["dtype"])
        count = int(np.prod(item["shape"], dtype=np.int64))
        if count * dtype.itemsize == 0:
            return np.empty(item["shape"], dtype)
        return np.frombuffer(payload, dtype, count, item["offset"]).reshape(item["shape"])

    return [
        Instance(entry["name"], entry["seed"], {key: value(item) for key, item in entry["data"].items()})
        for entry in header["instances"]
    ]
