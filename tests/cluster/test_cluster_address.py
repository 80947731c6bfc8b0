"""What is taken for the address of a cluster."""

import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.cluster.address import AUTO, CLIENT_PORT, NOWHERE, check_address, endpoint_of, moved
from coevo.cluster.connection import Cluster
from coevo.errors import ConfigError
from coevo.experiments.probe_config import make_probe_config
from coevo.searching.config import SearchConfig, make_config
from coevo.searching.models import choice_of
from coevo.tuning.config import TuneConfig, make_tune_config

HOSTS = st.from_regex(r"[a-z][a-z0-9]{0,8}(\.[a-z0-9]{1,5}){0,2}", fullmatch=True)
PORTS = st.integers(1, 65535)


@given(HOSTS, PORTS)
def test_host_and_port_are_an_address(host, port):
    """With and without the scheme of Ray's client."""
    assert endpoint_of(check_address(f"{host}:{port}")) == (host, port)
    assert endpoint_of(check_address(f"ray://{host}:{port}")) == (host, port)
    assert endpoint_of(check_address(f"ray://{host}")) == (host, CLIENT_PORT)


def test_a_host_may_be_an_address_of_either_internet_protocol():
    """IPv6 in brackets, as everywhere."""
    assert endpoint_of("127.0.0.1:6379") == ("127.0.0.1", 6379)
    assert endpoint_of("[::1]:6379") == ("::1", 6379)
    assert endpoint_of(AUTO) is None
    assert check_address(AUTO) == AUTO


@pytest.mark.parametrize(
    "text", ["", "local", "none", "head", "head:", ":6379", "head:port", "head:0", "head:70000", "http://head:1",
             "ray://", "ray://head:1/x", "he ad:1", "a@head:1", "head:1?x", "Auto", "head:1\n"],
)  # fmt: skip
def test_what_is_no_address_is_refused(text):
    """Among it what would make Ray start a cluster of its own; in one line."""
    with pytest.raises(ConfigError, match="HOST:PORT") as caught:
        make_config({"budget": 4, "ray": text})
    assert "\n" not in str(caught.value)


def test_an_address_reaches_the_choice_of_the_model():
    """In every kind of run that has one; earlier configurations mean this machine."""
    address = "head:6379"
    search = make_config({"budget": 4, "ray": address})
    assert choice_of(search).ray == address
    assert make_probe_config({"ray": address}).as_search().ray == address
    assert make_tune_config({"env": "sudoku", "ray": address}).choice.ray == address
    old = {name: value for name, value in search.model_dump(mode="json").items() if name != "ray"}
    assert SearchConfig.model_validate(old).ray is None


def test_judges_alone_may_be_on_a_cluster():
    """A search that asks a server, or no model at all, may have its judges there."""
    assert make_config({"budget": 4, "ray": AUTO, "method": "grammar"}).ray == AUTO
    assert make_config({"budget": 4, "ray": AUTO, "model": "http://localhost:1/v1#m"}).ray == AUTO


def test_backpropagation_is_not_on_a_cluster():
    """Its weights are in the run's own process."""
    with pytest.raises(ConfigError, match="ray none"):
        make_tune_config({"env": "sudoku", "method": "grpo", "ray": AUTO})


def test_a_run_moves_to_another_cluster_and_home():
    """Nothing else of its configuration changes."""
    config = make_tune_config({"env": "sudoku", "ray": AUTO})
    assert moved(config, None) is config
    assert moved(config, "head:6379").ray == "head:6379"
    home = moved(config, NOWHERE)
    assert home.ray is None
    assert home == TuneConfig.model_validate(config.model_dump() | {"ray": None})
    with pytest.raises(ConfigError, match="HOST:PORT"):
        moved(config, "nowhere")


@pytest.mark.slow
def test_auto_means_what_ray_address_names(monkeypatch):
    """Where nothing listens, it is one line."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("RAY_ADDRESS", address := f"127.0.0.1:{free.getsockname()[1]}")
        with pytest.raises(ConfigError, match=f"at {address}.*ray start --head") as caught:
            Cluster(AUTO)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_none_on_this_machine_is_one_line(monkeypatch, tmp_path):
    """Without an address, and with none running; nothing is started."""
    if any("raylet" in command_of(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit()):
        pytest.skip("a cluster runs on this machine, which auto would find")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    with pytest.raises(ConfigError, match=r"--ray auto.*ray start --head") as caught:
        Cluster(AUTO)
    assert "\n" not in str(caught.value)


def command_of(pid):
    """The program of a process; empty once it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().partition(b"\0")[0].decode(errors="replace")
    except OSError:
        return ""
