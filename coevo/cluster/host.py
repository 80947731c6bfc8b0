"""The actor: a process on some node that holds one part of a run and answers for it.

What it holds is named by a factory, a function or class of coevo's that is imported there: coevo has to be installed
on every node, in the same version.
"""

import os
import socket
import sys
import threading
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol

from coevo import __version__
from coevo.cluster.faults import pack_error
from coevo.cluster.frames import Header


class Servant(Protocol):
    """What an actor holds."""

    def answer(self, header: Mapping[str, Any], payload: bytes) -> tuple[Header, bytes]:
        """The answer to a message; may be called from several threads at once."""


class Host:
    """An actor's class. Its methods are called from threads of Ray's; errors come back as values.

    Args:
        factory: `module:name` of what makes the servant from settings and bytes.
        settings: Plain values.
        payload: Whatever the factory takes besides.
    """

    def __init__(self, factory: str, settings: dict[str, Any], payload: bytes) -> None:
        self._factory = factory
        self._settings = settings
        self._payload = payload
        self._servant: Servant | None = None
        self._making = threading.Lock()

    def about(self) -> dict[str, Any]:
        """Where this is, and what runs here."""
        import ray

        return {
            "node": ray.get_runtime_context().get_node_id(),
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "coevo": __version__,
            "python": ".".join(map(str, sys.version_info[:2])),
        }

    def answer(self, header: dict[str, Any], payload: bytes) -> tuple[Header, bytes]:
        """The servant's answer; the first message makes the servant."""
        try:
            with self._making:
                if self._servant is None:
                    module, _, name = self._factory.partition(":")
                    self._servant = getattr(import_module(module), name)(self._settings, self._payload)
                    self._payload = b""
            return self._servant.answer(header, payload)
        except Exception as error:
            return pack_error(error), b""
