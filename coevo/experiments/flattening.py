"""Nested values by dotted names, so that two of them can be compared value by value."""

from collections.abc import Mapping
from typing import Any


def dotted(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Every value that is no mapping under its dotted name, such as `weights.scope`; an empty mapping has none."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= dotted(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = value
    return found
