"""A copy of DocVQA in miniature: pages that are drawn here, in the published forms."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coevo.environments.docvqa.drawing import draw
from coevo.environments.docvqa.generator import generate

Rows = list[dict[str, Any]]


@pytest.fixture(scope="session")
def pages() -> list[bytes]:
    """Four drawn pages; skips without Pillow."""
    pytest.importorskip("PIL", reason="needs Pillow")
    return [draw(generate("train", number)) for number in range(4)]


@pytest.fixture
def rows() -> Rows:
    """Questions as published, without their images: three about each of eight documents."""
    return [
        {
            "questionId": 100 + number,
            "question": f"What is in field {number}?",
            "docId": number // 3,
            "ucsf_document_id": f"doc{number // 3}",
            "answers": [f"answer {number}", f"Answer {number}."],
            "data_split": "val",
        }
        for number in range(24)
    ]


@pytest.fixture
def json_copy(tmp_path: Path, pages: list[bytes]) -> Callable[[Rows], Path]:
    """Writes questions as a JSON file with an image for each document beside it; returns the file."""

    def write(rows: Rows) -> Path:
        (tmp_path / "documents").mkdir(exist_ok=True)
        for number in range(8):
            (tmp_path / "documents" / f"doc{number}.png").write_bytes(pages[number % 4])
        entries = [{"image": f"documents/{row.get('ucsf_document_id', 'doc0')}.png", **row} for row in rows]
        file = tmp_path / "val_v1.0.json"
        file.write_text(json.dumps({"dataset_name": "docvqa", "data": entries}))
        return file

    return write


@pytest.fixture
def parquet_copy(tmp_path: Path, pages: list[bytes]) -> Callable[..., Path]:
    """Writes questions as two parquet files of small row groups, as on the hub; returns the folder."""
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow")

    def write(rows: Rows, image: Callable[[int], Any] | None = None) -> Path:
        folder = tmp_path / "DocVQA"
        folder.mkdir(exist_ok=True)
        of_row = image or (lambda number: {"bytes": pages[number // 3 % 4], "path": None})
        full = [{**row, "image": of_row(number)} for number, row in enumerate(rows)]
        for part, half in enumerate((full[: len(full) // 2], full[len(full) // 2 :])):
            file = folder / f"validation-0000{part}-of-00002.parquet"
            parquet.write_table(pyarrow.Table.from_pylist(half), file, row_group_size=5)
        withheld = [{**full[0], "answers": None}]
        parquet.write_table(pyarrow.Table.from_pylist(withheld), folder / "test-00000-of-00001.parquet")
        return folder

    return write
