"""A configuration comes in layers: defaults, a recipe, what the user says."""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from coevo.errors import ConfigError


def layered(name: str, layers: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """A table whose keys are taken from the last layer that has them.

    Args:
        name: Of the table.
        layers: Fields of a configuration, lowest first; in each the table may be missing, partial or resolved.

    Raises:
        ConfigError: If a layer has something else than a table there.
    """
    merged: dict[str, Any] = {}
    for layer in layers:
        table = layer.get(name, {})
        if isinstance(table, BaseModel):
            table = table.model_dump()
        if not isinstance(table, Mapping):
            raise ConfigError(f"expected a table for {name}, got {table!r}")
        merged |= table
    return merged
