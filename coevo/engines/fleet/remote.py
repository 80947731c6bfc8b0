"""Engines that are actors on the nodes of a cluster, and a fleet of them."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from coevo.cluster.connection import Actor, ActorSpec, Cluster
from coevo.cluster.faults import ActorLost
from coevo.engines import wire
from coevo.engines.fleet.engine import FleetEngine
from coevo.engines.fleet.faults import EngineLost
from coevo.errors import ModelError
from coevo.interfaces import Completion, Request, Update


class Roster:
    """What engines depend on has to be the same for all: who came first is who the others are held against.

    Args:
        here: What is known on this machine, by name.
    """

    def __init__(self, here: Mapping[str, str]) -> None:
        self._seen = {name: (value, "this machine") for name, value in here.items()}
        self._lock = threading.Lock()

    def admit(self, identity: Mapping[str, str], host: str) -> None:
        """Hold an engine against those before it.

        Args:
            identity: Name -> version or hash.
            host: Where it is.

        Raises:
            ModelError: Naming what differs, and both places.
        """
        with self._lock:
            for name, value in identity.items():
                known, where = self._seen.setdefault(name, (value, host))
                if known != value:
                    raise ModelError(
                        f"expected the same model and packages on every node, got {name} {known} on {where} and "
                        f"{value} on {host}; make them the same, or take the node out of the cluster"
                    )


class RemoteEngine:
    """See `coevo.interfaces.Engine`: stands for one that an actor holds.

    Raises:
        EngineLost: If there is no room for the actor, or it dies; so does every method.
        CoevoError: What opening the engine raised there.
    """

    def __init__(self, cluster: Cluster, spec: ActorSpec, roster: Roster) -> None:
        self._actor = cluster.actor(spec)
        try:
            with _lost():
                self._actor.open()
                identity = self._actor.ask({"do": "open"}, names_host=True)[0]["identity"]
            roster.admit(identity, self._actor.host)
        except BaseException:
            self._actor.begin_close()
            raise

    @property
    def actor(self) -> Actor:
        """The actor."""
        return self._actor

    def generate(self, requests: Sequence[Request]) -> Iterator[Completion]:
        """See `Engine`."""
        with _lost():
            self._actor.ask({"do": "generate", "requests": [wire.pack_request(request) for request in requests]})
        is_done = False
        while not is_done:
            with _lost():
                answer, _ = self._actor.ask({"do": "more"})
            is_done = answer["done"]
            yield from map(wire.unpack_completion, answer["completions"])

    def commit(self, update: Update) -> int:
        """See `Engine`."""
        with _lost():
            return int(self._actor.ask({"do": "commit", "update": wire.pack_update(update)})[0]["fingerprint"])

    def fingerprint(self) -> int:
        """See `Engine`."""
        with _lost():
            return int(self._actor.ask({"do": "fingerprint"})[0]["fingerprint"])

    def export(self, folder: Path) -> None:
        """See `Engine`: the files are fetched piece by piece, because no folder need be shared."""
        with _lost():
            files = self._actor.ask({"do": "export"})[0]["files"]
            for name, size in files:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                with (folder / name).open("wb") as file:
                    while file.tell() < size:
                        file.write(self._piece(name, file.tell()))
            self._actor.ask({"do": "forget"})

    def close(self) -> None:
        """See `Engine`."""
        self._actor.close()

    def _piece(self, name: str, at: int) -> bytes:
        piece = self._actor.ask({"do": "read", "name": name, "at": at})[1]
        if not piece:
            raise ModelError(f"expected more of {name} from {self._actor.host}, got none; see to its disk")
        return piece


class RemoteFleet(FleetEngine):
    """A fleet on a cluster, which it leaves when it is closed.

    Args:
        cluster: Where the engines run; the fleet closes it.
        spec: The actor of each.
        engines: How many.
        here: What `Roster` knows of this machine.
        slots: See `FleetEngine`.
        heals: See `FleetEngine`.
    """

    def __init__(
        self, cluster: Cluster, spec: ActorSpec, engines: int, *, here: Mapping[str, str], slots: int, heals: bool
    ) -> None:
        self._cluster = cluster
        roster = Roster(here)
        try:
            super().__init__([lambda: RemoteEngine(cluster, spec, roster)] * engines, slots=slots, heals=heals)
        except BaseException:
            cluster.close()
            raise

    def close(self) -> None:
        """See `Engine`."""
        super().close()
        self._cluster.close()


@contextmanager
def _lost() -> Iterator[None]:
    try:
        yield
    except ActorLost as error:
        raise EngineLost(str(error)) from error
