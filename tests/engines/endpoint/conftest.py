"""A scripted server, and engines that ask it."""

import pytest
from scripted_server import KEY, QUICK, Server

from coevo.engines.endpoint.engine import open_endpoint


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    """A key of the user's, and no proxy between the tests and this machine."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("COEVO_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def server():
    """A running server."""
    running = Server()
    yield running
    running.close()


@pytest.fixture
def connect(server):
    """Opens engines on the server, and closes them."""
    opened = []

    def make(**options):
        opened.append(open_endpoint(f"{server.url}#tiny", **{"patience": QUICK, **options}))
        return opened[-1]

    yield make
    for engine in opened:
        engine.close()
