"""Finding runs and grids below the folders that were named."""

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from coevo.reporting.grid_story import is_grid

DEPTH = 4
"""Folders below a named one that are looked into: those of a grid's cells lie that deep."""

_NAME = 48
"""Longest part of a slug that is the folder's name."""

_INSIDE = frozenset({"candidates", "es"})
"""Folders of a run, in which there are no runs."""


@dataclass(frozen=True, slots=True)
class Found:
    """A run directory or the folder of a grid.

    Attributes:
        slug: Its address in the page: the name with what is unusual left out, and the hash of its path. It is the same
            after a restart and whatever else is found.
        name: Its path below the folder that was named.
    """

    slug: str
    path: Path
    name: str
    kind: Literal["run", "grid"]


def find(places: Sequence[Path]) -> list[Found]:
    """Every run and grid at or below some folders, each once, in order of their names.

    Folders that cannot be read or are not there are passed over: they may come later.
    """
    found: dict[Path, Found] = {}
    for place in places:
        for path, kind in _walk(place, DEPTH):
            resolved = path.resolve()
            name = path.name if path == place else str(path.relative_to(place))
            found.setdefault(resolved, Found(slug_of(resolved), resolved, name or resolved.name, kind))
    return sorted(found.values(), key=lambda each: each.name)


def slug_of(path: Path) -> str:
    """The address of a folder: letters, digits, dots, dashes and underscores, whatever its name is."""
    digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:8]
    return f"{re.sub(r'[^A-Za-z0-9._-]', '-', path.name)[:_NAME]}-{digest}"


def is_run(path: Path) -> bool:
    """Whether a folder is the directory of a run, be it a broken one."""
    return (path / "events.jsonl").is_file() or ((path / "config.toml").is_file() and (path / "candidates").is_dir())


def _walk(path: Path, depth: int) -> Iterator[tuple[Path, Literal["run", "grid"]]]:
    try:
        if is_run(path):
            yield path, "run"
            return
        if is_grid(path):
            yield path, "grid"
        below = sorted(entry.name for entry in os.scandir(path) if _is_looked_into(entry)) if depth else []
    except OSError:
        return
    for name in below:
        yield from _walk(path / name, depth - 1)


def _is_looked_into(entry: "os.DirEntry[str]") -> bool:
    return not entry.name.startswith(".") and entry.name not in _INSIDE and entry.is_dir()
