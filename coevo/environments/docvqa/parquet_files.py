"""Read the questions of DocVQA parquet files as they lie on the hub; images are unpacked into a cache when needed."""

import hashlib
import os
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coevo.environments.docvqa.rows import Columns, Row, read_columns
from coevo.errors import ContentError, ExtraMissingError

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

_NEEDED = ("question", "answers", "image")
_BATCH = 32
"""Rows whose images are in memory at a time; a page takes about a megabyte."""


def read_parquet_files(files: Sequence[Path]) -> list[Row]:
    """The questions of some parquet files, in their order.

    Args:
        files: Each with the columns question, answers and image (bytes, or a struct of bytes and path). Rows without
            `ucsf_document_id` and `docId` are about one document where their images are the same bytes.

    Raises:
        ContentError: Naming the file, and the column or the row.
        ExtraMissingError: Without pyarrow.
    """
    return [row for number, file in enumerate(files) for row in _rows(file, number)]


def unpack(rows: Sequence[Row]) -> list[Path]:
    """The images of rows of parquet files, each as a file in the user's cache.

    Raises:
        ContentError: If a row holds none, or the cache cannot be written.
    """
    targets = [_cache_folder(row.file) / f"{row.place}.png" for row in rows]
    for file in dict.fromkeys(row.file for row in rows):
        missing = {
            row.place: target
            for row, target in zip(rows, targets, strict=True)
            if row.place is not None and row.file == file and not target.is_file()
        }
        for place, image in _images(file, missing):
            _write(missing[place], _image_bytes(image, file, place))
    return targets


def _rows(file: Path, file_number: int) -> Iterator[Row]:
    parquet = _open(file)
    names = set(parquet.schema_arrow.names)
    if missing := [name for name in _NEEDED if name not in names]:
        raise ContentError(f"{file}: expected the columns {', '.join(_NEEDED)}; missing: {', '.join(missing)}")
    wanted = [name for name in Columns.model_fields if name in names]
    rows = [read_columns(values, file, place) for place, values in enumerate(_values(parquet, file, wanted))]
    documents = [columns.document for columns in rows]
    if None in documents:
        documents = [
            hashlib.sha256(_image_bytes(image, file, place)).hexdigest()
            for place, image in _images(file, range(len(rows)))
        ]
    for place, (columns, document) in enumerate(zip(rows, documents, strict=True)):
        name = f"{file_number}.{place}" if columns.questionId is None else str(columns.questionId)
        yield Row(name, columns.question, columns.answers, str(document), file, place)


def _values(parquet: "ParquetFile", file: Path, columns: Sequence[str]) -> list[Any]:
    with _refusing(file):
        values: list[Any] = parquet.read(columns=list(columns)).to_pylist()
    return values


def _images(file: Path, wanted: Collection[int]) -> Iterator[tuple[int, Any]]:
    """Row number and content of the image column, of the wanted rows in order; a group without any is not read."""
    parquet = _open(file)
    first = 0
    for group in range(parquet.num_row_groups):
        count = parquet.metadata.row_group(group).num_rows
        if any(place in wanted for place in range(first, first + count)):
            yield from _images_of_group(file, parquet, group, first, wanted)
        first += count


def _images_of_group(
    file: Path, parquet: "ParquetFile", group: int, first: int, wanted: Collection[int]
) -> Iterator[tuple[int, Any]]:
    batches = parquet.iter_batches(_BATCH, row_groups=[group], columns=["image"])
    while True:
        with _refusing(file):
            batch = next(batches, None)
        if batch is None:
            return
        values = batch.column(0)
        for offset in range(len(values)):
            if first + offset in wanted:
                yield first + offset, values[offset].as_py()
        first += len(values)


def _image_bytes(image: Any, file: Path, place: int) -> bytes:
    content = image.get("bytes") if isinstance(image, dict) else image
    if not isinstance(content, bytes) or not content:
        raise ContentError(f"{file}, row {place}: expected the bytes of an image, got {content!r:.80}")
    return content


def _open(file: Path) -> "ParquetFile":
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise ExtraMissingError("pyarrow", "agents", "reading parquet files") from None
    with _refusing(file):
        return ParquetFile(file)


@contextmanager
def _refusing(file: Path) -> Iterator[None]:
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, OSError) as error:
        raise ContentError(f"{file}: expected a parquet file, got: {str(error).splitlines()[0]}") from None


def _cache_folder(file: Path) -> Path:
    """A folder for each state of a file: another download of it does not find the images of the old one."""
    state = file.stat()
    identity = hashlib.sha256(f"{file.resolve()} {state.st_size} {state.st_mtime_ns}".encode()).hexdigest()[:16]
    # A Path would raise where there is no home.
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
    return Path(base) / "coevo" / "docvqa" / identity


def _write(target: Path, content: bytes) -> None:
    """Whole or not at all: another process may be doing the same."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as file:
            file.write(content)
        os.replace(file.name, target)  # noqa: PTH105 - the name of the temporary file is a text
    except OSError as error:
        raise ContentError(f"expected to unpack images into {target.parent}, got: {error.strerror}") from None
