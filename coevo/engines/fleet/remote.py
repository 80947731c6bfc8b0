"""Engines that are actors on the nodes of a cluster, and a fleet of them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from coevo.cluster.actor import Actor, ActorSpec
from coevo.cluster.connection import GONE, Cluster
from coevo.cluster.faults import ActorLost
from coevo.cluster.roster import Roster
from coevo.engines import wire
from coevo.engines.fleet.engine import FleetEngine
from coevo.engines.fleet.faults import EngineLost
from coevo.errors import ModelError, RunError
from coevo.interfaces import Completion, Engine, Request, Update


class RemoteEngine:
    """See `coevo.interfaces.Engine`: stands for one that an actor holds.

    Args:
        actor: Yet to be opened; the engine closes it.
        roster: Whom it is held against.

    Raises:
        EngineLost: If there is no room for the actor, or it dies; so does every method.
        CoevoError: What opening the engine raised there.
    """

    def __init__(self, actor: Actor, roster: Roster) -> None:
        self._actor = actor
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
                if Path(name).is_absolute() or ".." in Path(name).parts:
                    raise ModelError(f"expected files below the export's folder from {self._actor.host}, got {name}")
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
        self._cluster, self._spec, self._roster = cluster, spec, Roster("an engine", here)
        self._actors: list[Actor] = []
        self._is_leaving = False
        try:
            super().__init__([self._open_engine] * engines, slots=slots, heals=heals)
        except BaseException:
            cluster.close()
            raise

    def close(self) -> None:
        """See `Engine`. All actors end at once, also those that wait for room or load a model."""
        self._is_leaving = True
        for actor in list(self._actors):
            actor.begin_close()
        super().close()
        self._cluster.close()

    def _open_engine(self) -> Engine:
        if self._cluster.is_over and not self._is_leaving:
            raise RunError(GONE)  # no other engine can be had, so the fleet is not to try
        actor = self._cluster.actor(self._spec)
        self._actors.append(actor)
        if self._is_leaving:
            raise EngineLost("the fleet has been closed")
        return RemoteEngine(actor, self._roster)


@contextmanager
def _lost() -> Iterator[None]:
    try:
        yield
    except ActorLost as error:
        raise EngineLost(str(error)) from error
