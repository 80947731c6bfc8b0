"""What adapters share: optional packages, tasks that are seeds, plain values for traces."""

import importlib
import math
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coevo.environments.texts import encodable
from coevo.errors import ConfigError, ExtraMissingError
from coevo.interfaces import Task

MOST_TASKS = 1_000_000
"""Of a split: the seeds of the next one begin there."""
EXTRA = "agents"


def optional(module: str, purpose: str) -> ModuleType:
    """Import a module of an optional package.

    Raises:
        ExtraMissingError: If it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ExtraMissingError(error.name or module, EXTRA, purpose) from error


def seeded_tasks(split: str, sizes: Mapping[str, int], **data: Any) -> list[Task]:
    """Tasks of which each has a seed of its own, under `data["seed"]`; no two splits share one.

    Args:
        split: The split that is asked for.
        sizes: Number of tasks of every split, by name; a split's seeds follow from its place in here.
        data: What all tasks have in common, such as the id of a game; plain JSON values.

    Raises:
        ConfigError: If there is no such split, or more tasks are wanted than a split has seeds.
    """
    if split not in sizes or not 0 < sizes[split] <= MOST_TASKS:
        raise ConfigError(f"expected a size of 1 to {MOST_TASKS:,} for the split {split!r}, got {dict(sizes)}")
    first = MOST_TASKS * list(sizes).index(split)
    return [Task(f"{split}-{number}", {**data, "seed": first + number}) for number in range(sizes[split])]


def plain(info: Mapping[Any, Any]) -> dict[str, str | int | float | bool]:
    """The entries of a mapping that are plain finite numbers or short texts, NumPy's scalars turned into Python's."""
    found = {}
    for key, value in info.items():
        number = value.item() if hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else value
        is_short = isinstance(number, str) and len(number) <= 1000
        if is_short or (isinstance(number, bool | int | float) and math.isfinite(number)):
            found[str(key)] = encodable(number) if isinstance(number, str) else number
    return found
