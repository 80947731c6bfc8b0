"""A run's handles on the actors of a cluster."""

import threading
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from coevo import __version__
from coevo.cluster.faults import ActorLost, raise_packed
from coevo.cluster.frames import Header
from coevo.cluster.patience import PING_S, QUIET_S, ROOM_QUIET_S, answers, awaited
from coevo.errors import ConfigError

if TYPE_CHECKING:
    from coevo.cluster.connection import Cluster

ROOM_S = 120.0
"""How long an actor may wait for free resources and the start of its process."""
FAREWELL_S = 5.0
"""How long an actor may take to release what it holds before it is ended."""


@dataclass(frozen=True, slots=True)
class ActorSpec:
    """What an actor holds and needs.

    Attributes:
        what: What it is, for messages, such as "an engine".
        factory: `module:name` of what makes its servant (`coevo.cluster.host.Servant`) from settings and bytes.
        settings: Plain values.
        cpus: Cores that are kept for it; may be a fraction.
        gpus: Devices that are kept for it.
        is_grouped: Whether its resources are a placement group of their own, all on one node; else it is put wherever
            least is done.
        room_s: How long it may wait for them, seconds; `ROOM_S` without a number.
    """

    what: str
    factory: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    cpus: float = 1.0
    gpus: int = 0
    is_grouped: bool = False
    room_s: float | None = None


class Actor:
    """One actor; any thread may ask, and close it meanwhile."""

    def __init__(self, cluster: "Cluster", number: int, spec: ActorSpec) -> None:
        self._cluster = cluster
        self._number = number
        self._spec = spec
        self._closing: Future[tuple[Header, bytes]] | None = None
        self._lock = threading.Lock()
        self.about: Header = {}

    @property
    def host(self) -> str:
        """The machine it runs on, and its node of the cluster; empty before it is open."""
        return f"{self.about['host']} (node {self.about['node'][:8]})" if self.about else ""

    def open(self, payload: bytes = b"") -> None:
        """Start it wherever there is room and wait until it runs.

        Raises:
            NoRoom: If there is none in time.
            ActorLost: If it dies over it, or was closed meanwhile.
            ConfigError: If coevo is another version there.
        """
        spec = asdict(self._spec)
        spec["room_s"] = self._spec.room_s or ROOM_S
        opening = self._cluster.begin({"do": "open", "actor": self._number, "spec": spec}, payload)
        header, _ = awaited(opening, ROOM_QUIET_S, lambda opened: self._say_no_room(spec, opened))
        raise_packed(header)
        self.about = header["about"]
        if self.about["coevo"] != __version__:
            self.close()
            raise ConfigError(
                f"expected coevo {__version__} on every node, got {self.about['coevo']} on {self.host}; "
                "install the same version there"
            )

    def ask(self, header: Mapping[str, Any], payload: bytes = b"", *, names_host: bool = False) -> tuple[Header, bytes]:
        """Its answer to a message.

        Args:
            header: Plain values.
            payload: Whatever goes with them.
            names_host: Whether an error begins with where it happened.

        Raises:
            ActorLost: If it is gone.
            CoevoError: What it raised.
        """
        asked = {"do": "ask", "actor": self._number, "header": dict(header)}
        answer, content = awaited(self._cluster.begin(asked, payload), QUIET_S, self._look_after)
        raise_packed(answer)
        raise_packed(answer["header"], f"on {self.host}: " if names_host else "")
        return answer["header"], content

    def begin_close(self) -> None:
        """End it, without waiting for that."""
        with self._lock:
            if self._closing is None:
                asked = {"do": "close", "actor": self._number, "farewell_s": FAREWELL_S}
                self._closing = self._cluster.begin(asked)

    def close(self) -> None:
        """End it and give its resources back; safe to call twice."""
        self.begin_close()
        assert self._closing is not None
        with suppress(ActorLost):
            self._closing.result()

    def _say_no_room(self, spec: Mapping[str, Any], opening: Future[Any]) -> None:
        asked = self._cluster.begin({"do": "room", "actor": self._number, "spec": spec})
        if not answers(asked, opening, PING_S):
            return
        with suppress(ActorLost):
            found, _ = asked.result()
            if "error" not in found:
                self._cluster.once.warn(
                    f"room for {found['wanted']}",
                    f"{found['wanted']} waits for room on a node of the cluster, with {found['free']} free, or for its "
                    f"process to start; it is given up after {spec['room_s']:g} s",
                )

    def _look_after(self, asked: Future[Any]) -> None:
        """Say that the process of the actor is silent as well; one that only works for long says that it is there."""
        ping = self._cluster.begin({"do": "ping", "actor": self._number})
        if answers(ping, asked, PING_S) is False:
            self._cluster.once.warn(
                f"silence of {self._number}",
                f"{self._spec.what} on {self.host} has been silent for {QUIET_S:g} s, and so has its process "
                f"{self.about['pid']}, which may be stopped or swapped out; to have its work done elsewhere, end it "
                f"there: kill -9 {self.about['pid']}",
            )
