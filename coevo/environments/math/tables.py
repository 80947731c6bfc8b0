"""Read rows of named columns from the files a data set comes in: JSONL, JSON, CSV and parquet."""

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coevo.content import read_text
from coevo.errors import ContentError, ExtraMissingError, InstanceFileError

SUFFIXES = (".jsonl", ".json", ".csv", ".parquet")


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a file.

    Attributes:
        file: Where it stands.
        number: Its line in JSONL, else which row it is; from 1.
        values: By column.
        split: The split that the file itself says it is of, or empty.
    """

    file: Path
    number: int
    values: Mapping[str, Any]
    split: str = ""

    def fault(self, message: str) -> InstanceFileError:
        """An error about this row."""
        return InstanceFileError(self.file, self.number, message)


def read_rows(file: Path) -> Iterator[Row]:
    """The rows of one file, in order.

    A JSON file holds a list of objects, an object with such a list under one name, or one list for each split.

    Raises:
        ContentError: Naming the file, and the line where there is one.
        ExtraMissingError: For parquet without pyarrow.
    """
    readers = {".jsonl": _jsonl, ".json": _json, ".csv": _csv, ".parquet": _parquet}
    reader = readers.get(file.suffix.lower())
    if reader is None:
        raise ContentError(f"{file}: expected a file that ends in {', '.join(SUFFIXES)}")
    return reader(file)


def _jsonl(file: Path) -> Iterator[Row]:
    for number, line in enumerate(read_text(file).split("\n"), 1):
        if line.strip():
            yield _row(file, number, _decoded(file, line, number))


def _json(file: Path) -> Iterator[Row]:
    content = _decoded(file, read_text(file), None)
    if isinstance(content, list):
        content = {"": content}
    lists = {k: v for k, v in content.items() if isinstance(v, list)} if isinstance(content, dict) else {}
    if not lists:
        raise InstanceFileError(file, None, "expected a list of objects, or lists of objects by split")
    number = 0
    for name, entries in lists.items():
        for number, entry in enumerate(entries, number + 1):  # noqa: B020 - goes on counting
            yield _row(file, number, entry, name)


def _csv(file: Path) -> Iterator[Row]:
    lines = read_text(file).removeprefix("\ufeff").splitlines(keepends=True)
    try:
        for number, values in enumerate(csv.DictReader(lines, strict=True), 1):
            yield _row(file, number, {name: value for name, value in values.items() if isinstance(name, str)})
    except csv.Error as error:
        raise InstanceFileError(file, None, f"expected CSV with a line of column names, got: {error}") from None


def _parquet(file: Path) -> Iterator[Row]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise ExtraMissingError("pyarrow", "agents", f"reading {file.name}") from None
    try:
        number = 0
        for batch in ParquetFile(file).iter_batches():
            for values in batch.to_pylist():
                number += 1
                yield _row(file, number, values)
    except (ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InstanceFileError(file, None, f"expected a parquet file, got: {reason}") from None


def _row(file: Path, number: int, values: Any, split: str = "") -> Row:
    if not isinstance(values, dict):
        raise InstanceFileError(file, number, f"expected an object with the columns, got {values!r:.80}")
    return Row(file, number, values, split)


def _decoded(file: Path, text: str, line: int | None) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InstanceFileError(file, line or error.lineno, f"expected JSON, got: {error.msg}") from None
    except (RecursionError, ValueError) as error:
        raise InstanceFileError(file, line, f"expected JSON, got: {error}") from None
