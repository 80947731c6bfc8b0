"""The envoy: the one process of a run that Ray is loaded in. Started by `coevo.cluster.connection`.

    first of all                                       -> {"imported": true}, then {"nodes", "cpus", "gpus", "address"}
    {"call", "do": "open", "actor", "spec"} + payload  -> {"call", "about"}, once there is room and it runs
    {"call", "do": "ask", "actor", "header"} + payload -> {"call", "header"} + payload
    {"call", "do": "close", "actor"}                   -> {"call"}, once it is told to end
    {"call", "do": "ping", "actor"}                    -> {"call"}, once its process says that it is there
    {"call", "do": "room", "actor", "spec"}            -> {"call", "wanted", "free"}: of the cluster, now

Any answer may be `{"call", "error", "message"}` instead. Calls are answered in any order. When the run ends, however it
does, the pipe does, and then the envoy and every actor that it opened.
"""

import logging
import os
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from coevo.cluster.address import AUTO, CLIENT_SCHEME, check_address, endpoint_of
from coevo.cluster.faults import MOST_CHARS, TOKEN_ADVICE, ActorLost, NoRoom, pack_error
from coevo.cluster.frames import Header, Line
from coevo.cluster.host import Host
from coevo.errors import ConfigError, one_line

_KNOCK_S = 5.0
_JOINING_TRIES = "8"
"""A second each. By itself Ray tries for longer than a run waits, which then could not say what it was."""
_FAREWELL_S = 5.0
_LEAVE_S = 10.0
_PING_S = 60.0
"""How long a ping is waited for here, so that those to a process that is stopped do not pile up."""
_CONCURRENT = 8
"""Messages that an actor takes at a time; few, but one that closes it has to come through."""


@dataclass
class _Hosted:
    """An actor and the resources that are kept for it."""

    handle: Any = None
    group: Any = None
    is_closed: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


class Envoy:
    """Answers calls, each in a thread of its own.

    Args:
        line: To the run.
        ray: The module.
    """

    def __init__(self, line: Line, ray: Any) -> None:
        self._line = line
        self._ray = ray
        self._hosted: dict[int, _Hosted] = {}
        self._remote = ray.remote(Host)

    def serve(self) -> None:
        """Take calls until the run is gone."""
        try:
            while True:
                header, payload = self._line.receive()
                # In the order in which they come, so that a close finds the actor that it is for.
                hosted = self._hosted.setdefault(header["actor"], _Hosted())
                threading.Thread(target=self._handle, args=(hosted, header, payload), daemon=True).start()
        except EOFError:
            return

    def _handle(self, hosted: _Hosted, header: Header, payload: bytes) -> None:
        act = {"open": self._open, "ask": self._ask, "close": self._close, "ping": self._ping, "room": self._room}
        try:
            answer, content = act[header["do"]](hosted, header, payload)
        except Exception as error:
            answer, content = pack_error(ActorLost(_first_line(error)) if self._is_loss(error) else error), b""
        with suppress(OSError):  # the run is gone, and `serve` hears of it
            try:
                self._line.send({"call": header["call"], **answer}, content)
            except (TypeError, ValueError) as error:  # what no message can hold: its caller waits all the same
                self._line.send({"call": header["call"], **pack_error(error)})

    def _is_loss(self, error: Exception) -> bool:
        """Whether an actor's process or node is gone, or never came to be: Ray has many words for that."""
        said = self._ray.exceptions
        return isinstance(error, said.RayError) and not isinstance(error, said.RayTaskError | said.GetTimeoutError)

    def _open(self, hosted: _Hosted, header: Header, payload: bytes) -> tuple[Header, bytes]:
        spec = header["spec"]
        with hosted.lock:
            if hosted.is_closed:
                raise ActorLost("closed before it was opened")
            options = self._place(hosted, spec)
            hosted.handle = self._remote.options(**options).remote(spec["factory"], spec["settings"], payload)
        try:
            about = self._ray.get(hosted.handle.about.remote(), timeout=spec["room_s"])
        except self._ray.exceptions.GetTimeoutError:
            self._close(hosted, header, b"")
            raise NoRoom(self._no_room(hosted, header)) from None
        return {"about": about}, b""

    def _place(self, hosted: _Hosted, spec: dict[str, Any]) -> dict[str, Any]:
        """Where an actor is to run: beside nothing in particular, or in a placement group of its own."""
        from ray.util.placement_group import placement_group
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        options = {"num_cpus": spec["cpus"], "num_gpus": spec["gpus"], "max_concurrency": _CONCURRENT}
        if not spec["is_grouped"]:
            return options | {"scheduling_strategy": "SPREAD"}
        bundle = {name: count for name, count in (("CPU", spec["cpus"]), ("GPU", spec["gpus"])) if count}
        hosted.group = placement_group([bundle], strategy="PACK")
        return options | {"scheduling_strategy": PlacementGroupSchedulingStrategy(hosted.group)}

    def _ask(self, hosted: _Hosted, header: Header, payload: bytes) -> tuple[Header, bytes]:
        if hosted.handle is None or hosted.is_closed:
            raise ActorLost("it has been closed")
        answer, content = self._ray.get(hosted.handle.answer.remote(header["header"], payload))
        return {"header": answer}, content

    def _close(self, hosted: _Hosted, header: Header, _payload: bytes) -> tuple[Header, bytes]:
        """Let the servant release what it holds, then end the actor whatever it does."""
        with hosted.lock:
            was_closed, hosted.is_closed = hosted.is_closed, True
            handle, group = hosted.handle, hosted.group
        if was_closed:
            return {}, b""
        if handle is not None:
            with suppress(self._ray.exceptions.RayError):  # it is gone or busy, and ends in any case
                self._ray.get(handle.answer.remote({"do": "close"}, b""), timeout=header.get("farewell_s", _FAREWELL_S))
        try:
            if handle is not None:
                self._ray.kill(handle, no_restart=True)
        finally:
            if group is not None:
                from ray.util.placement_group import remove_placement_group

                remove_placement_group(group)
        return {}, b""

    def _ping(self, hosted: _Hosted, _header: Header, _payload: bytes) -> tuple[Header, bytes]:
        self._ray.get(hosted.handle.about.remote(), timeout=_PING_S)
        return {}, b""

    def _room(self, _hosted: _Hosted, header: Header, _payload: bytes) -> tuple[Header, bytes]:
        """What an actor needs, and what is free."""
        spec = header["spec"]
        wanted = ", ".join(f"{spec[key]:g} {name}" for key, name in (("cpus", "CPU"), ("gpus", "GPU")) if spec[key])
        there, free = self._ray.cluster_resources(), self._ray.available_resources()
        has = ", ".join(f"{free.get(name, 0):g} of {there.get(name, 0):g} {name}" for name in ("CPU", "GPU"))
        return {"wanted": f"{spec['what']} ({wanted})", "free": has}, b""

    def _no_room(self, hosted: _Hosted, header: Header) -> str:
        found, _ = self._room(hosted, header, b"")
        return (
            f"expected {found['wanted']} to find room on one node and to start within {header['spec']['room_s']:g} s, "
            f"but it has not, with {found['free']} free in the cluster; lower --engines or --workers, or add nodes"
        )


def _first_line(error: BaseException) -> str:
    """What Ray says of a lost actor, without the actor's numbers."""
    return one_line(str(error).strip().partition("\n")[0], MOST_CHARS).removesuffix(".")


def resources(ray: Any) -> Header:
    """What the cluster has."""
    there = ray.cluster_resources()
    nodes = sum(bool(node["Alive"]) for node in ray.nodes())
    return {"nodes": nodes, "cpus": there.get("CPU", 0), "gpus": there.get("GPU", 0), "address": _head(ray)}


def _head(ray: Any) -> str:
    """Where the cluster's head is, as far as Ray says so from here."""
    with suppress(Exception):
        return str(ray.get_runtime_context().gcs_address)
    return "an address that Ray does not tell"


def join(ray: Any, address: str) -> None:
    """Connect to a cluster that runs.

    Raises:
        ConfigError: If there is none, or it cannot be joined from here.
    """
    named = os.environ.get("RAY_ADDRESS", AUTO) if address == AUTO else address
    try:
        check_address(named)  # Ray would take more from the variable, such as to start a cluster
    except ValueError as error:
        raise ConfigError(f"RAY_ADDRESS: {error}") from error
    _knock(named)
    try:
        ray.init(named, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:
        if address == AUTO and isinstance(error, ConnectionError):
            raise ConfigError(
                "expected a Ray cluster on this machine (--ray auto), none is running; start one with: ray start "
                "--head, or name one by --ray HOST:PORT"
            ) from error
        if any("AuthToken" in str(cause) for cause in _causes(error)):
            raise ConfigError(
                f"expected to join the Ray cluster at {named}, it asks for a token: {TOKEN_ADVICE}"
            ) from error
        raise ConfigError(
            f"expected to join the Ray cluster at {named}, got: {one_line(error, MOST_CHARS)}; run coevo on one of its "
            "nodes, with the same Ray and Python, or name its client server by --ray ray://HOST:10001"
        ) from error


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what it came from, nearest first."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _knock(address: str) -> None:
    """Refuse at once where nothing listens: Ray itself tries for minutes, and then ends the process."""
    endpoint = endpoint_of(address)
    if endpoint is None:
        return
    try:
        socket.create_connection(endpoint, timeout=_KNOCK_S).close()
    except OSError as error:
        port = "--ray-client-server-port" if address.startswith(f"{CLIENT_SCHEME}://") else "--port"
        raise ConfigError(
            f"expected a Ray cluster at {address}, got: {error.strerror or error}; check the address, or start the "
            f"cluster with: ray start --head {port} {endpoint[1]}"
        ) from error


def _end_unless_wanted(line: Line) -> None:
    """Until the cluster has been joined, which may take long, nobody else hears that the run is gone."""
    if not line.is_wanted():
        os._exit(1)


def main(descriptor: int, address: str) -> None:
    """Join a cluster and answer the run until it is gone; returns only by ending the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    line = Line(Connection(descriptor))
    os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", _JOINING_TRIES)
    warnings.simplefilter("ignore")  # of Ray's: nobody reads them here
    import ray

    line.send({"imported": True})
    threading.Thread(target=_end_unless_wanted, args=(line,), daemon=True).start()
    try:
        join(ray, address)
        line.send(resources(ray))
    except ConfigError as error:
        line.send(pack_error(error))
        os._exit(0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Envoy(line, ray).serve()
    threading.Timer(_LEAVE_S, os._exit, (1,)).start()  # a cluster that is gone is not waited for
    ray.shutdown()
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
