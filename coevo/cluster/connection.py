"""A run's connection to a cluster."""

import importlib.util
import logging
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from itertools import count
from multiprocessing.connection import Pipe
from typing import IO, Any, Self

from coevo.child_environ import child_environ
from coevo.cluster.actor import Actor, ActorSpec
from coevo.cluster.address import AUTO
from coevo.cluster.faults import MOST_CHARS, TOKEN_ADVICE, ActorLost, raise_packed
from coevo.cluster.frames import Header, Line
from coevo.cluster.patience import Once
from coevo.errors import ConfigError, ExtraMissingError, one_line

IMPORT_S = 120.0
"""How long Ray may take to be imported, which reads many files."""
CONNECT_S = 20.0
"""How long a cluster may take to answer."""
GONE = "the connection to the Ray cluster has ended; see that its head runs, then resume the run"
_LEAVE_S = 15.0
_LAST_WORDS_BYTES = 2000


class Cluster:
    """A cluster that has been joined; ends with `close`, and with it every actor. Any thread may use it.

    Args:
        address: `auto`, `host:port` or `ray://host:port`; no cluster is ever started.

    Attributes:
        nodes: Number of nodes at the start.
        cpus: Cores of them all.
        gpus: Devices of them all.
        head: Where its head is: `auto` may be another cluster than one thinks.
        once: Says what is waited for.

    Raises:
        ExtraMissingError: If Ray is not installed.
        ConfigError: If there is no cluster at the address, or none that can be joined from here.
    """

    def __init__(self, address: str) -> None:
        if importlib.util.find_spec("ray") is None:
            raise ExtraMissingError("ray", "ray", "--ray")
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._process, self._line = _start_envoy(address, self._log)
        self._calls: dict[int, Future[tuple[Header, bytes]]] = {}
        self._lock = threading.Lock()
        self._is_over = False
        self._numbers = count()
        self.once = Once()
        self._reader: threading.Thread | None = None
        try:
            joined = self._joined(address)
        except BaseException:
            self.close()
            raise
        self.nodes, self.cpus, self.gpus = int(joined["nodes"]), float(joined["cpus"]), int(joined["gpus"])
        self.head = str(joined["address"])
        self._reader = threading.Thread(target=self._listen, name="coevo-cluster", daemon=True)
        self._reader.start()

    @property
    def is_over(self) -> bool:
        """Whether the connection has ended, and every actor with it."""
        return self._is_over

    @property
    def pid(self) -> int:
        """Process number of the envoy."""
        return self._process.pid

    def actor(self, spec: ActorSpec) -> Actor:
        """A handle on an actor that is yet to be opened."""
        return Actor(self, next(self._numbers), spec)

    def begin(self, header: Mapping[str, Any], payload: bytes = b"") -> "Future[tuple[Header, bytes]]":
        """Ask the envoy.

        Returns:
            Holds the answer, which may be an error as a header, or `ActorLost` where the connection is gone.
        """
        future: Future[tuple[Header, bytes]] = Future()
        with self._lock:
            number, is_over = next(self._numbers), self._is_over
            if not is_over:
                self._calls[number] = future
        if is_over:
            future.set_exception(self._gone())
            return future
        with suppress(OSError):  # the reader hears of it, and tells everybody
            self._line.send({"call": number, **header}, payload)
        return future

    def announce(self, what: str) -> None:
        """Say where a part of the run is about to be opened, which may take a while.

        Args:
            what: The part, such as "2 engines".
        """
        cores = f"{self.nodes} nodes, {self.cpus:g} cores" + (f", {self.gpus} GPUs" if self.gpus else "")
        logging.getLogger(__name__).info("opening %s on the Ray cluster at %s (%s)", what, self.head, cores)

    def close(self) -> None:
        """Leave the cluster, ending every actor; safe to call twice, and while calls are under way."""
        with self._lock:
            self._is_over = True
        _end(self._process, self._line)
        if self._reader is not None and self._reader is not threading.current_thread():
            self._reader.join()
        self._line.close()
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _joined(self, address: str) -> Header:
        try:
            self._line.receive(IMPORT_S)
        except TimeoutError:
            raise ConfigError(
                f"expected Ray to be imported within {IMPORT_S:g} s, it was not; see to this machine's disk and load"
            ) from None
        except EOFError:
            raise self._ended() from None
        try:
            answer, _ = self._line.receive(CONNECT_S)
        except TimeoutError:
            where = "on this machine (--ray auto)" if address == AUTO else f"at {address}"
            raise ConfigError(
                f"expected a Ray cluster {where}, none answered within {CONNECT_S:g} s; check the address and that the "
                "cluster runs (ray status), or start one with: ray start --head; "
                f"if it asks for a token: {TOKEN_ADVICE}"
            ) from None
        except EOFError:
            raise self._ended() from None
        raise_packed(answer)
        return answer

    def _ended(self) -> ConfigError:
        return ConfigError(f"expected to join a Ray cluster, but Ray ended with: {self._last_words()}")

    def _listen(self) -> None:
        try:
            while True:
                header, payload = self._line.receive()
                with self._lock:
                    future = self._calls.pop(header.pop("call"), None)
                if future is not None:
                    future.set_result((header, payload))
        except (EOFError, OSError):
            pass
        except Exception:  # what comes after it cannot be trusted either
            logging.getLogger(__name__).exception("a message of the cluster's cannot be read")
        with self._lock:
            self._is_over = True
            left, self._calls = list(self._calls.values()), {}
        for future in left:
            future.set_exception(self._gone())

    def _gone(self) -> ActorLost:
        return ActorLost(GONE)

    def _last_words(self) -> str:
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, size - _LAST_WORDS_BYTES))
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return one_line(lines[-1], MOST_CHARS) if lines else "no message"


def _start_envoy(address: str, log: IO[bytes]) -> tuple[subprocess.Popen[bytes], Line]:
    """The process, in a session of its own: a terminal's Ctrl-C is the run's to handle."""
    ours, theirs = Pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "coevo.cluster.envoy", str(theirs.fileno()), address],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(theirs.fileno(),),
            env=child_environ(),
            cwd="/",  # actors look for modules where the envoy stands
            start_new_session=True,
        )
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    return process, Line(ours)


def _end(process: subprocess.Popen[bytes], line: Line) -> None:
    """The envoy ends when its pipe does, which is also what wakes a thread that receives."""
    if process.poll() is None:
        with suppress(OSError):
            line.hang_up()
        try:
            process.wait(_LEAVE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
