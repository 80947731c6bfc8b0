"""A cluster of two nodes on this machine, and what runs on them."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from coevo.cluster import actor, connection
from coevo.records.event_log import read_events

SUPPORT = Path(__file__).parents[1] / "support"
GENEROUS_S = 120.0
PATIENT_S = 240.0
RAY_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "PYTHONWARNINGS": "ignore"}


def until(condition: Callable[[], Any]) -> Any:
    """Waits for a condition, with a generous limit; what it came to."""
    end = time.monotonic() + GENEROUS_S
    while not (value := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
    return value


def command_of(pid: int) -> str:
    """The command line of a process; empty once it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def children_of(pid: int) -> list[int]:
    """Process numbers of the children of a process; empty once it has ended."""
    found = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(word) for word in file.read_text().split()]
        except OSError:
            continue
    return found


@dataclass(frozen=True)
class Node:
    """A node of the cluster: its identity, and the process that it is."""

    identity: str
    raylet: int

    @property
    def is_up(self) -> bool:
        """Whether its process runs."""
        return "raylet" in command_of(self.raylet)

    def actors(self) -> list[int]:
        """Processes of the actors that it hosts."""
        return sorted(pid for pid in children_of(self.raylet) if command_of(pid).startswith("ray::Host"))

    def judges(self) -> list[int]:
        """Those of them that judge."""
        return [pid for pid in self.actors() if any("evaluation.judge" in command_of(c) for c in children_of(pid))]

    def engines(self) -> list[int]:
        """Those of them whose model has worker processes."""
        return [pid for pid in self.actors() if any("torch_worker" in command_of(c) for c in children_of(pid))]


class Nodes:
    """The nodes of a cluster on this machine; the first one is its head, to which runs connect."""

    def __init__(self) -> None:
        environ = os.environ | RAY_QUIET
        environ.pop("RAY_ADDRESS", None)
        self._process = subprocess.Popen(
            [sys.executable, str(SUPPORT / "ray_nodes.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environ,
            start_new_session=True,
        )
        self.address = ""
        self._all: list[Node] = []
        self._hear()

    def add(self, **variables: str) -> Node:
        """Another node, whose processes have these variables besides."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(variables) + "\n")
        self._process.stdin.flush()
        return self._hear()

    def up(self, count: int) -> list[Node]:
        """Exactly so many nodes that run, the head first; some are added where they are too few."""
        while len(there := [node for node in self._all if node.is_up]) < count:
            self.add()
        for node in there[count:]:
            self.end(node)
        return there[:count]

    def end(self, node: Node) -> None:
        """Kill a node with all its actors, which would answer for some seconds more."""
        actors = node.actors()
        os.kill(node.raylet, signal.SIGKILL)
        until(lambda: not node.is_up)
        for pid in actors:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def actors(self) -> list[int]:
        """Processes of all actors."""
        return [pid for node in self._all for pid in node.actors()]

    def close(self) -> None:
        """End the cluster and wait until all its processes have ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(GENEROUS_S)
        finally:
            self._process.kill()
            self._process.wait()
            self._process.stdout.close()

    def _hear(self) -> Node:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.close()
            pytest.skip("no node of a Ray cluster starts on this machine, in five attempts")
        said = json.loads(line)
        self.address = said["address"]
        self._all.append(Node(said["node"], said["raylet"]))
        return self._all[-1]


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loaded machine is no broken cluster."""
    monkeypatch.setattr(connection, "CONNECT_S", PATIENT_S)
    monkeypatch.setattr(actor, "ROOM_S", PATIENT_S)
    monkeypatch.setattr(actor, "FAREWELL_S", GENEROUS_S)


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    """A cluster of one node or more, of its own for each module: a node that was killed is counted for a while."""
    found = Nodes()
    try:
        yield found
    finally:
        found.close()


@pytest.fixture
def two(nodes: Nodes) -> Iterator[list[Node]]:
    """Two nodes that run, the head first; afterwards no actor is left on any."""
    yield nodes.up(2)
    until(lambda: not nodes.actors())


@pytest.fixture(scope="session", name="children_of")
def _children_of() -> Callable[[int], list[int]]:
    """Process numbers of a process's children."""
    return children_of


@pytest.fixture(scope="session", name="until")
def _until() -> Callable[[Callable[[], Any]], Any]:
    """Waits for a condition."""
    return until


@pytest.fixture(scope="session")
def story() -> Callable[[str], list[dict[str, Any]]]:
    """Reads the events of a run without clock fields."""
    return lambda run: [
        {key: value for key, value in event.items() if key != "clock"}
        for event in read_events(Path(run) / "events.jsonl")
    ]


@pytest.fixture(scope="session")
def outcome() -> Callable[[Any], dict[str, Any]]:
    """What a result says beside where, how long and with how much memory."""
    return lambda result: result.model_dump(exclude={"run", "wall_s", "peak_mb"})
