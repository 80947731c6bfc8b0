"""A cluster that is joined from outside, through Ray's client server, and asks for a token."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from coevo.cluster import connection
from coevo.cluster.connection import Cluster
from coevo.engines.fleet.remote import RemoteFleet
from coevo.errors import ConfigError
from coevo.learning.choice import ModelChoice
from coevo.learning.models import open_model

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PORTS = ("--dashboard-agent-listen-port", "--runtime-env-agent-port", "--metrics-export-port")
"""Those that two clusters on one machine would both take."""
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "PYTHONWARNINGS": "ignore"}


@pytest.fixture(scope="module")
def tokened(tmp_path_factory, until):
    """Addresses of a cluster from outside and on its node, and what the environment has to say to be let in."""
    port, head_port, *others = _free_ports(2 + len(PORTS))
    told = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    # Not below pytest's own folder: the paths of the sockets in it may have 107 characters.
    folder = Path("/tmp") / f"ray-{secrets.token_hex(4)}"
    options = {"--port": head_port, "--ray-client-server-port": port, "--temp-dir": folder, "--num-cpus": 2}
    options |= {"--min-worker-port": 0, "--max-worker-port": 0, "--include-dashboard": "false"}
    options |= dict(zip(PORTS, others, strict=True))
    command = [str(Path(sys.executable).with_name("ray")), "start", "--head", "--block"]
    command += [str(word) for pair in options.items() for word in pair]
    log = tmp_path_factory.mktemp("ray") / "log"
    with log.open("wb") as output:
        head = subprocess.Popen(
            command, stdout=output, stderr=output, env=os.environ | QUIET | told, start_new_session=True
        )
    try:
        until(lambda: head.poll() is not None or _listens(port))
        assert head.poll() is None, log.read_text()
        yield {"outside": f"ray://127.0.0.1:{port}", "inside": f"127.0.0.1:{head_port}"}, told
    finally:
        head.send_signal(signal.SIGTERM)
        head.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


def _free_ports(count):
    opened = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    found = [each.getsockname()[1] for each in opened]
    for each in opened:
        each.close()
    return found


def _listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("side", ["outside", "inside"])
def test_engines_are_reached_with_the_token(tokened, side, monkeypatch):
    """A fleet opens there, has the weights of an engine here, and ends."""
    addresses, told = tokened
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    with ExitStack() as engines:
        here, there = (
            engines.enter_context(closing(open_model(choice).engine))
            for choice in (
                ModelChoice("embedded"),
                ModelChoice("embedded", engines=2, workers=2, ray=addresses[side]),
            )
        )
        assert isinstance(there, RemoteFleet)
        assert there.fingerprint() == here.fingerprint()


@pytest.mark.parametrize(
    ("side", "said"),
    [
        ("outside", "if it asks for a token: set RAY_AUTH_MODE=token"),
        ("inside", "it asks for a token: set RAY_AUTH_MODE"),
    ],
)
def test_without_the_token_one_line_says_what_is_missing(tokened, side, said, monkeypatch, tmp_path):
    """From outside Ray says nothing in that case, and waits; with the token the same wait is long enough."""
    addresses, told = tokened
    monkeypatch.setenv("HOME", str(tmp_path))
    if side == "outside":
        monkeypatch.setattr(connection, "CONNECT_S", 15.0)
        for name, value in told.items():
            monkeypatch.setenv(name, value)
        Cluster(addresses[side]).close()
    for name in told:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match=said) as caught:
        Cluster(addresses[side])
    assert "\n" not in str(caught.value)
