"""An engine on a node of a cluster: what its actor holds. Imported there, by the name that `remote` gives."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from coevo.engines.fleet.servant import EngineServant
from coevo.learning.models import open_model
from coevo.learning.remote import identity_of, unpack_choice


def servant(settings: Mapping[str, Any], _payload: bytes) -> EngineServant:
    """What the actor of an engine holds.

    Args:
        settings: From `pack_choice`.
    """
    choice = unpack_choice(settings)
    return EngineServant(lambda: open_model(choice).engine, partial(identity_of, choice))
