"""A local copy of DocVQA as tasks: which questions belong to which split, and whether their images are images.

Splits never share a document: documents, not questions, are dealt to train, val and test, whatever the published split
of the file. Documents take turns, so that a split holds as many different ones as it can.
"""

import random
import warnings
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from coevo.environments.docvqa.json_file import read_json_file
from coevo.environments.docvqa.parquet_files import read_parquet_files, unpack
from coevo.environments.docvqa.rows import Row
from coevo.errors import ContentError, ExtraMissingError
from coevo.interfaces import Task

_DEAL = ("train", "val", "test", "train")
"""To whom the documents go, in turn."""
_WITHHELD = "test"
"""Published files of this name have no answers."""
_FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF")
"""What tesseract reads too."""


def local_tasks(data: Path, split: str, size: int) -> list[Task]:
    """The first questions of a split of the user's data.

    Args:
        data: A JSON file as published, a parquet file, or a folder with one JSON file or with parquet files.
        split: train, val or test.
        size: Most questions; fewer where there are not so many.

    Raises:
        ContentError: If the data cannot be read, has too few documents, or an image of these questions is not one.
        ExtraMissingError: Without Pillow, or without pyarrow for parquet files.
    """
    rows = split_rows(read_rows(data), split)[:size]
    if not rows:
        raise ContentError(f"{data}: expected {len(_DEAL)} documents or more, found too few to leave one for {split}")
    images = unpack(rows) if rows[0].place is not None else [row.file for row in rows]
    return [_task(row, image) for row, image in zip(rows, images, strict=True)]


def read_rows(data: Path) -> list[Row]:
    """All questions of the user's data, in order.

    Raises:
        ContentError: If there are none to be read, or two have the same name.
    """
    files = _files(data)
    rows = read_json_file(files[0]) if files[0].suffix == ".json" else read_parquet_files(files)
    name, count = Counter(row.name for row in rows).most_common(1)[0] if rows else ("", 0)
    if count > 1:
        raise ContentError(f"{data}: expected questionId to be unique, got {name!r} {count} times")
    return rows


def split_rows(rows: Sequence[Row], split: str) -> list[Row]:
    """The rows of a split: first one of each of its documents, then the second of each, and so on.

    A function of the rows' documents and of the split's name; seeded with a constant.
    """
    documents = list(dict.fromkeys(row.document for row in rows))
    random.Random("coevo docvqa deal").shuffle(documents)
    dealt = {name: place for place, name in enumerate(documents) if _DEAL[place % len(_DEAL)] == split}
    mine = sorted((row for row in rows if row.document in dealt), key=lambda row: dealt[row.document])
    ranked = [(rank, row) for _, group in groupby(mine, key=lambda row: row.document) for rank, row in enumerate(group)]
    return [row for _, row in sorted(ranked, key=lambda pair: pair[0])]


def check_image(file: Path) -> None:
    """Do nothing if a file is the image of a page.

    Raises:
        ContentError: If it is not there, no image, or torn as far as its checksums tell.
        ExtraMissingError: Without Pillow.
    """
    try:
        from PIL import Image
    except ImportError:
        raise ExtraMissingError("pillow", "agents", "checking images") from None
    if not file.is_file():
        raise ContentError(f"expected an image at {file}, where the data set says it is; found none")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(file, formats=_FORMATS) as image:
                image.verify()
    except Exception as error:  # Pillow promises no set of errors for bytes that are not what they claim.
        what = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ContentError(f"expected an image ({', '.join(_FORMATS)}) in {file}, got: {what}") from None


def _task(row: Row, image: Path) -> Task:
    try:
        check_image(image)
    except ContentError as error:
        if row.place is None:
            raise
        raise ContentError(f"{row.file}, row {row.place}: {error}") from None
    data = {"question": row.question, "answers": list(row.answers), "image": str(image.resolve())}
    return Task(row.name, data)


def _files(data: Path) -> list[Path]:
    """The file or files that a path stands for."""
    if data.is_file() and data.suffix in (".json", ".parquet"):
        return [data]
    parquet = [file for file in sorted(data.glob("*.parquet")) if not file.name.startswith(_WITHHELD)]
    found = parquet or sorted(data.glob("*.json"))
    if not data.is_dir() or not found:
        raise ContentError(
            f"expected data to be a JSON file of DocVQA, a parquet file or a folder of either, got {data}; "
            f"files of a name in {_WITHHELD}* are passed over, their answers are withheld"
        )
    if not parquet and len(found) > 1:
        raise ContentError(f"{data}: expected one JSON file, found {', '.join(file.name for file in found)}; name one")
    return found
