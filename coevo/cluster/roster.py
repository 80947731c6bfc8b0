"""Whether the nodes of a cluster are alike in what a run's results depend on."""

import threading
from collections.abc import Mapping

from coevo.errors import ModelError


class Roster:
    """What the parts of a run depend on has to be the same for all: each is held against those before it.

    Args:
        what: What they are, for messages, such as "an engine".
        here: What is known on this machine, name -> version or hash.
    """

    def __init__(self, what: str, here: Mapping[str, str]) -> None:
        self._what = what
        self._seen = {name: (value, "this machine") for name, value in here.items()}
        self._lock = threading.Lock()

    def admit(self, identity: Mapping[str, str], host: str) -> None:
        """Hold one against those before it.

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
                        f"expected the same of {self._what} on every node, got {name} {known} on {where} and "
                        f"{value} on {host}; make them the same, or take the node out of the cluster"
                    )
