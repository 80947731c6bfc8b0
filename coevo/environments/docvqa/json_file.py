"""Read the questions of a DocVQA JSON file as published, with the images beside it."""

import json
from pathlib import Path
from typing import Any

from coevo.content import read_text
from coevo.environments.docvqa.rows import Row, read_columns
from coevo.errors import ContentError


def read_json_file(file: Path) -> list[Row]:
    """The questions of `{"data": [{"questionId", "question", "image", "answers"}, …]}`.

    Args:
        file: The JSON file; `image` is a path from its folder.

    Raises:
        ContentError: Naming the file, and the row where there is one. That images are there is not checked here.
    """
    return [_read_row(file, values, number) for number, values in enumerate(_entries(file))]


def _entries(file: Path) -> list[Any]:
    try:
        content = json.loads(read_text(file))
    except json.JSONDecodeError as error:
        raise ContentError(f"{file}, line {error.lineno}: expected JSON, got: {error.msg}") from None
    except (RecursionError, ValueError) as error:
        raise ContentError(f"{file}: expected JSON, got: {error}") from None
    entries = content.get("data") if isinstance(content, dict) else None
    if not isinstance(entries, list) or not entries:
        raise ContentError(f'{file}: expected {{"data": [a question, ...]}} as DocVQA is published, found no such list')
    return entries


def _read_row(file: Path, values: Any, number: int) -> Row:
    columns = read_columns(values, file, number)
    image = values.get("image")
    if not isinstance(image, str) or not image:
        raise ContentError(f"{file}, row {number}: expected image to be the path of an image, got {image!r:.80}")
    name = str(number if columns.questionId is None else columns.questionId)
    return Row(name, columns.question, columns.answers, columns.document or image, file.parent / image)
