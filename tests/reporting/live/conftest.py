"""Live pages of runs made by hand, and a server on a free port."""

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from coevo.reporting.live.library import Library
from coevo.reporting.live.server import Server

FOREVER = float("inf")


@pytest.fixture
def lines_of() -> Callable[[list[dict[str, Any]]], bytes]:
    """Events as the bytes of a log."""
    return lambda events: b"".join(json.dumps(event).encode() + b"\n" for event in events)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Serves a library, of the test's runs if no other is given, until the test ends."""
    opened: list[tuple[Server, threading.Thread]] = []

    def start(library: Library | None = None) -> Server:
        server = Server(library or Library([tmp_path / "runs"]), 0)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        opened.append((server, thread))
        thread.start()
        return server

    yield start
    for server, thread in opened:
        server.shutdown()
        server.server_close()
        thread.join()
