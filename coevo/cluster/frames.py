"""Messages between a run and its envoy: a JSON object and bytes, so that nothing is unpickled on either side."""

import json
import os
import socket
import struct
import threading
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

Header = dict[str, Any]

_LENGTH = struct.Struct("<I")


class Line:
    """One end of a pipe. Any thread may send; one thread receives."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sending = threading.Lock()

    def send(self, header: Mapping[str, Any], payload: bytes = b"") -> None:
        """Send a message; blocks while the pipe is full.

        Raises:
            OSError: If the other end is gone.
        """
        head = json.dumps(header).encode()
        with self._sending:
            self._connection.send_bytes(_LENGTH.pack(len(head)) + head + payload)

    def receive(self, timeout_s: float | None = None) -> tuple[Header, bytes]:
        """The next message; blocks until there is one.

        Raises:
            EOFError: If the other end is gone.
            TimeoutError: If none came in time.
        """
        try:
            if timeout_s is not None and not self._connection.poll(timeout_s):
                raise TimeoutError
            frame = self._connection.recv_bytes()
        except (ConnectionError, BrokenPipeError) as error:
            raise EOFError from error
        (length,) = _LENGTH.unpack_from(frame)
        start = _LENGTH.size
        return json.loads(frame[start : start + length]), frame[start + length :]

    def is_wanted(self) -> bool:
        """Wait until there is something to receive, and leave it there; False if the other end is gone instead."""
        try:
            with socket.socket(fileno=os.dup(self._connection.fileno())) as shared:
                return bool(shared.recv(1, socket.MSG_PEEK))
        except OSError:
            return False

    def hang_up(self) -> None:
        """End the conversation for both ends, also under a thread that receives."""
        with socket.socket(fileno=os.dup(self._connection.fileno())) as shared:
            shared.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close this end; only once no thread uses it any more."""
        self._connection.close()
