"""Bin-packing instance files of every form: text (`packing_text`), JSON, NumPy arrays; told apart by the suffix.

- `.json`: `{"NAME": {"capacity": c, "num_items": n, "items": [...]}, ...}`, as published for online bin packing.
- `.npy`, or `.npz` with the array `demands`: sizes of shape (items,) or (instances, items); the capacity is an option.
- anything else is text.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.errors import InstanceFileError, one_line
from coevo.problemkit.packing_text import LARGEST, PackingRecord, parse_packing_text
from coevo.problemkit.text_files import read_lines


def read_packings(path: Path | str, capacity: int | None = None) -> list[PackingRecord]:
    """The instances in a file, in its order.

    Args:
        path: The file.
        capacity: Of every bin: needed for arrays, which state none, and refused for other files, which state theirs.

    Raises:
        InstanceFileError: If the file cannot be read, or is not what its form asks for; with the line where it has one.
    """
    file = Path(path)
    if not file.is_file():
        raise InstanceFileError(file, None, "expected an instance file, found none")
    if file.suffix in (".npy", ".npz"):
        return _read_arrays(file, capacity)
    if capacity is not None:
        raise InstanceFileError(file, None, "the file states its own capacity; leave out the option capacity")
    lines = read_lines(file)
    return _parse_json(file, "\n".join(lines)) if file.suffix == ".json" else parse_packing_text(file, lines)


def _read_arrays(file: Path, capacity: int | None) -> list[PackingRecord]:
    if capacity is None:
        raise InstanceFileError(file, None, "an array states no capacity; give it, as in --option capacity=150")
    if isinstance(capacity, bool) or not isinstance(capacity, int) or not 1 <= capacity <= LARGEST:
        raise InstanceFileError(
            file, None, f"expected the option capacity from 1 to {LARGEST}, a whole number, got {capacity!r:.40}"
        )
    demands = _load(file)
    if demands.dtype.kind not in "iuf" or demands.ndim not in (1, 2) or demands.size == 0:
        raise InstanceFileError(
            file,
            None,
            "expected sizes as numbers of shape (items,) or (instances, items), "
            f"got {demands.dtype} of shape {demands.shape}",
        )
    rows = np.atleast_2d(demands)
    wrong = np.argwhere(~((rows >= 1) & (rows <= capacity) & (rows == np.rint(rows))))
    if wrong.size:
        row, item = wrong[0]
        raise InstanceFileError(
            file,
            None,
            f"expected whole sizes from 1 to the capacity {capacity}, "
            f"got {rows[row, item]} for item {item} of instance {row}",
        )
    names = [file.stem] if demands.ndim == 1 else [f"{file.stem}-{place}" for place in range(len(rows))]
    return [PackingRecord(name, row.astype(np.int64), capacity) for name, row in zip(names, rows, strict=True)]


def _load(file: Path) -> NDArray[Any]:
    try:
        # Opened here, because NumPy leaves a damaged archive open.
        with file.open("rb") as stream:
            loaded = np.load(stream, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return loaded
            with loaded:
                found = dict(loaded)
    except Exception as error:
        # NumPy parses the header with Python's tokenizer, and archives with zlib: errors that have nothing in common.
        message = f"expected an array of NumPy's without pickles, got: {one_line(error)}"
        raise InstanceFileError(file, None, message) from error
    if "demands" not in found:
        names = ", ".join(found) or "none"
        raise InstanceFileError(file, None, f"expected the array demands in the archive, found {names:.80}")
    return np.asarray(found["demands"])


def _parse_json(file: Path, text: str) -> list[PackingRecord]:
    try:
        found = json.loads(text, object_pairs_hook=_without_repetition)
    except json.JSONDecodeError as error:
        raise InstanceFileError(file, error.lineno, f"expected JSON, got {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise InstanceFileError(file, None, f"expected JSON, got {error}") from error
    if not isinstance(found, dict) or not found:
        raise InstanceFileError(file, None, "expected a JSON object of instances by name, with at least one")
    return [_json_record(file, name, entry) for name, entry in found.items()]


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key that comes twice in one object")
    return found


def _json_record(file: Path, name: str, entry: Any) -> PackingRecord:
    keys = {"capacity", "num_items", "items"}
    if not isinstance(entry, dict) or set(entry) != keys or not isinstance(entry["items"], list):
        raise InstanceFileError(file, None, f"expected {name:.40} to hold capacity, num_items and a list of items")
    capacity, items = entry["capacity"], entry["items"]
    if not _is_within(capacity, LARGEST):
        raise InstanceFileError(
            file, None, f"expected the capacity of {name:.40} from 1 to {LARGEST}, got {capacity!r:.40}"
        )
    if not items or type(entry["num_items"]) is not int or entry["num_items"] != len(items):
        raise InstanceFileError(
            file, None, f"expected num_items of {name:.40} to count its {len(items)} items, at least one"
        )
    for place, size in enumerate(items):
        if not _is_within(size, capacity):
            raise InstanceFileError(
                file, None, f"expected item {place} of {name:.40} from 1 to its capacity {capacity}, got {size!r:.40}"
            )
    return PackingRecord(name, np.array(items, dtype=np.int64), capacity)


def _is_within(value: Any, largest: int) -> bool:
    return type(value) is int and 1 <= value <= largest
