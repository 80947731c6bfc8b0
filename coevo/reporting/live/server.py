"""The server: loopback only, reads and never writes, with a bound on everything that a client could make it hold.

One request per connection. Each has a thread of its own, of which there are `CONNECTIONS` at
most, and lasts `DEADLINE_S` at most, however slowly its client sends or reads.
"""

import errno
import logging
import socket
import socketserver
import threading
import time
from http.server import BaseHTTPRequestHandler
from typing import Any

from coevo.errors import ConfigError
from coevo.reporting.live.answering import Answer, answer, plain
from coevo.reporting.live.gate import refusal
from coevo.reporting.live.library import Library
from coevo.reporting.live.rendering import policy, prepare

HOST = "127.0.0.1"
PORT = 8642
CONNECTIONS = 32
DEADLINE_S = 30.0
_IDLE_S = 10.0
"""Longest wait for a client to send or to take a piece."""
_DRAIN_S = 1.0
_DRAINED = 16
"""Pieces of at most 4,096 bytes that are taken of a refused request."""
_TRIED = 100
"""Ports that are tried from the default one on."""
_BUSY = b"HTTP/1.0 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"

log = logging.getLogger(__name__)


class Server(socketserver.ThreadingTCPServer):
    """Answers on a port of 127.0.0.1 until it is closed.

    Args:
        library: The runs it shows.
        port: 0 for any free one.

    Raises:
        OSError: If the port cannot be had.
    """

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = CONNECTIONS

    def __init__(self, library: Library, port: int):
        self.library = library
        self._open: dict[socket.socket, tuple[float, threading.Thread]] = {}
        self._lock = threading.Lock()
        super().__init__((HOST, port), _Handler)

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.server_address[1])

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return f"http://{HOST}:{self.port}/"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Give a connection its thread, or turn it away where all are taken."""
        with self._lock:
            is_free = len(self._open) < CONNECTIONS
            if is_free:
                thread = threading.Thread(target=self._serve, args=(request, client_address), daemon=True)
                thread.start()
                self._open[request] = (time.monotonic(), thread)
        if not is_free:
            self._turn_away(request)

    def _turn_away(self, request: socket.socket) -> None:
        request.setblocking(False)
        try:
            request.send(_BUSY)
        except OSError:
            log.debug("a client that was turned away was gone")
        self.shutdown_request(request)

    def _serve(self, request: socket.socket, client_address: Any) -> None:
        try:
            self.finish_request(request, client_address)
        except OSError:
            log.debug("a client went away")
        finally:
            self.shutdown_request(request)
            with self._lock:
                self._open.pop(request, None)

    def service_actions(self) -> None:
        """Cut off connections that have lasted too long; called twice a second."""
        self._cut(time.monotonic() - DEADLINE_S)

    def _cut(self, before: float) -> list[threading.Thread]:
        with self._lock:
            late = [(request, thread) for request, (begun, thread) in self._open.items() if begun <= before]
        for request, _ in late:
            try:
                request.shutdown(socket.SHUT_RDWR)
            except OSError:
                log.debug("a connection was over before it was cut off")
        return [thread for _, thread in late]

    def server_close(self) -> None:
        """Close the port and every connection, and wait for their threads."""
        super().server_close()
        for thread in self._cut(float("inf")):
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server
    protocol_version = "HTTP/1.0"
    server_version = "coevo"
    sys_version = ""
    timeout = _IDLE_S

    def handle_one_request(self) -> None:
        """Read a request and answer it; whatever its method is, it is refused or answered here."""
        self.close_connection = True
        self.raw_requestline = self.rfile.readline(65537)
        if not self.raw_requestline or len(self.raw_requestline) > 65536 or not self.parse_request():
            return
        refused = refusal(self.command, self.path, self.headers, self.server.port)
        self._send(plain(*refused) if refused else answer(self.server.library, self.path))
        if refused:
            self._drain()

    def _drain(self) -> None:
        """Take what a refused request still sends: closing before that could lose the refusal on its way."""
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_WR)
        self.connection.settimeout(_DRAIN_S)
        for _ in range(_DRAINED):
            if not self.connection.recv(4096):
                return

    def _send(self, found: Answer) -> None:
        self.send_response(found.status)
        self.send_header("Content-Type", found.kind)
        self.send_header("Content-Length", str(len(found.body)))
        for name, value in _headers().items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(found.body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a request that could not be read, without a word of it."""
        self.request_version = "HTTP/1.0"
        self.command = self.command or "GET"
        self._send(plain(code, "This request could not be read."))

    def log_message(self, *args: Any) -> None:
        """Say nothing: a page that is looked at asks every second."""


def _headers() -> dict[str, str]:
    return {
        "Content-Security-Policy": policy(),
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Allow": "GET, HEAD",
        "Connection": "close",
    }


def open_server(library: Library, port: int | None) -> Server:
    """A server that listens.

    Args:
        library: The runs it shows.
        port: The one to listen on; None for the default one or, if that is in use, the next that is free.

    Raises:
        ConfigError: If the port cannot be had.
    """
    prepare()
    for tried in (port,) if port is not None else range(PORT, PORT + _TRIED):
        try:
            return Server(library, tried)
        except OSError as error:
            if port is None and error.errno == errno.EADDRINUSE:
                continue
            reason = "it is in use" if error.errno == errno.EADDRINUSE else error.strerror
            raise ConfigError(f"expected a free port for --port, got {tried}: {reason}; name another one") from error
    raise ConfigError(f"expected a free port from {PORT} on, found {_TRIED} in use; name one with --port")
