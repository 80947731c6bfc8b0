"""Copies of DocVQA: what is read of them, how they are split, and one clear line for each thing that is wrong."""

import json
import random
import struct
import zlib
from pathlib import Path

import pytest

from coevo.environments.docvqa.dataset import check_image, local_tasks, read_rows, split_rows
from coevo.environments.docvqa.rows import Row
from coevo.errors import ContentError

SPLITS = ("train", "val", "test")


def test_a_published_file_is_read(json_copy, rows):
    """Name, question, answers and image of each question, by split."""
    tasks = local_tasks(json_copy(rows), "train", 50)
    assert len(tasks) == 12
    for task in tasks:
        number = int(task.name) - 100
        assert task.data["question"] == f"What is in field {number}?"
        assert task.data["answers"] == [f"answer {number}", f"Answer {number}."]
        assert Path(task.data["image"]).name == f"doc{number // 3}.png"
        assert json.loads(json.dumps(task.data)) == task.data


def test_a_parquet_folder_is_read_as_the_same_tasks(json_copy, parquet_copy, rows, pages):
    """Both published forms hold the same tasks; images are unpacked; the file without answers is passed over."""
    file, folder = json_copy(rows), parquet_copy(rows)
    for split in SPLITS:
        from_json, from_parquet = (local_tasks(data, split, 50) for data in (file, folder))
        assert [task.name for task in from_json] == [task.name for task in from_parquet]
        for one, other in zip(from_json, from_parquet, strict=True):
            assert Path(one.data["image"]).read_bytes() == Path(other.data["image"]).read_bytes()
            assert one.data["answers"] == other.data["answers"]


def test_tasks_are_listed_the_same_twice(parquet_copy, rows):
    """The second time from the cache, with the same paths."""
    folder = parquet_copy(rows)
    assert local_tasks(folder, "val", 3) == local_tasks(folder, "val", 3)


def test_another_state_of_a_file_has_other_images(parquet_copy, rows, pages):
    """A parquet file that is written anew does not find the images of the old one."""
    before = local_tasks(parquet_copy(rows), "train", 1)[0]
    last = pages[::-1]
    folder = parquet_copy([*rows, {**rows[0], "questionId": 999}], lambda number: {"bytes": last[number // 3 % 4]})
    after = local_tasks(folder, "train", 1)[0]
    assert after.name == before.name
    assert Path(after.data["image"]).read_bytes() != Path(before.data["image"]).read_bytes()


def test_without_document_columns_the_images_tell(parquet_copy, rows):
    """Questions about the same bytes are about one document; there are four such documents."""
    bare = [{key: row[key] for key in ("question", "answers")} for row in rows]
    found = read_rows(parquet_copy(bare))
    assert len({row.document for row in found}) == 4
    assert len({row.name for row in found}) == 24
    assert {row.document for row in split_rows(found, "train")}.isdisjoint(
        row.document for row in split_rows(found, "val")
    )


def _rows(counts: list[int]) -> list[Row]:
    return [
        Row(f"{document}.{rank}", "?", ("!",), str(document), Path("x"))
        for document, count in enumerate(counts)
        for rank in range(count)
    ]


@pytest.mark.parametrize("seed", range(20))
def test_splits_share_no_document_and_lose_no_row(seed):
    """Every row is in one split, a document whole, and train has the most documents."""
    rng = random.Random(seed)
    rows = _rows([rng.randint(1, 5) for _ in range(rng.randint(4, 40))])
    split = {name: split_rows(rows, name) for name in SPLITS}
    assert sorted(row.name for part in split.values() for row in part) == sorted(row.name for row in rows)
    documents = {name: {row.document for row in part} for name, part in split.items()}
    assert sum(map(len, documents.values())) == len({row.document for row in rows})
    assert len(documents["train"]) >= len(documents["val"]) >= len(documents["test"]) >= 1


def test_a_split_begins_with_different_documents():
    """One question of each document comes before a second of any."""
    rows = split_rows(_rows([3] * 16), "train")
    assert len({row.document for row in rows[:8]}) == 8
    assert [row.name.split(".")[1] for row in rows] == ["0"] * 8 + ["1"] * 8 + ["2"] * 8


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda row: row.pop("question"), "row 5: question: expected a value, found none"),
        (lambda row: row.pop("answers"), "row 5: answers: expected a value, found none"),
        (lambda row: row.update(answers=[]), "row 5: answers: expected at least 1 of them"),
        (lambda row: row.update(answers=None), "row 5: answers"),
        (lambda row: row.update(answers="a"), "row 5: answers"),
        (lambda row: row.update(answers=["a", " "]), "row 5: answers.1"),
        (lambda row: row.update(question=""), "row 5: question"),
        (lambda row: row.update(image=7), "row 5: expected image to be the path of an image, got 7"),
        (lambda row: row.update(questionId=100), "questionId to be unique, got '100' 2 times"),
    ],
)
def test_a_bad_row_is_named(json_copy, rows, change, said):
    """One line with the file, the row and the column."""
    change(rows[5])
    _is_refused(json_copy(rows), said)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "line 1: expected JSON"),
        ("[" * 100_000, "expected JSON"),
        ("[]", "found no such list"),
        ('{"data": []}', "found no such list"),
        ('{"data": [3]}', "row 0"),
        ("\xff", "expected UTF-8"),
    ],
)
def test_a_bad_json_file_is_named(tmp_path, content, said):
    """Whatever a file holds, one line says what was expected."""
    file = tmp_path / "val.json"
    file.write_bytes(content.encode("latin-1"))
    _is_refused(file, said)


def test_a_folder_without_data_is_refused(tmp_path):
    """Neither an empty folder nor a path that is not there is silently an empty set."""
    _is_refused(tmp_path, "expected data to be")
    _is_refused(tmp_path / "nowhere.json", "expected data to be")
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "b.json").write_text("{}")
    _is_refused(tmp_path, "expected one JSON file, found a.json, b.json")


def test_too_few_documents_are_refused(json_copy, rows):
    """A split is never silently empty."""
    file = json_copy(rows[:3])
    assert len(local_tasks(file, "train", 9)) == 3
    with pytest.raises(ContentError, match="too few to leave one for val"):
        local_tasks(file, "val", 9)


@pytest.mark.parametrize("content", [b"", b"no image", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"%!PS-Adobe"])
def test_a_file_that_is_no_image_is_named(json_copy, rows, tmp_path, content):
    """An image that is not one is found when tasks are listed."""
    file = json_copy(rows)
    for number in range(8):
        (tmp_path / "documents" / f"doc{number}.png").write_bytes(content)
    _is_refused(file, r"expected an image \(PNG, .*\) in .*documents/doc\d.png, got")


def test_a_torn_image_and_a_missing_one_are_named(tmp_path, pages):
    """Half of a page is not taken for a page, nor a folder; nor an image of a billion pixels."""
    file = tmp_path / "page.png"
    file.write_bytes(pages[0][: len(pages[0]) // 2])
    with pytest.raises(ContentError, match=r"expected an image .* in .*page.png"):
        check_image(file)
    for gone in (tmp_path, tmp_path / "gone.png"):
        with pytest.raises(ContentError, match=r"expected an image at .*; found none"):
            check_image(gone)
    header = b"IHDR" + struct.pack(">IIBBBBB", 40_000, 40_000, 8, 0, 0, 0, 0)
    file.write_bytes(pages[0][:12] + header + struct.pack(">I", zlib.crc32(header)) + pages[0][33:])
    with pytest.raises(ContentError, match="1600000000 pixels"):
        check_image(file)


def test_bad_parquet_is_named(parquet_copy, rows, tmp_path):
    """A file that is not one, missing columns, rows without answers, images that are not: each says where."""
    _is_refused(parquet_copy([{"question": "?", "docId": 1}] * 2), "missing: answers")
    _is_refused(parquet_copy([{**row, "answers": []} for row in rows]), "row 0: answers")
    _is_refused(parquet_copy(rows, lambda number: {"bytes": b"no image"}), r"parquet, row \d+: expected an image")
    _is_refused(parquet_copy(rows, lambda number: {"bytes": None, "path": "x"}), "expected the bytes of an image")
    _is_refused(parquet_copy(rows, lambda number: "text"), "expected the bytes of an image, got 'text'")
    file = tmp_path / "DocVQA" / "validation-00000-of-00002.parquet"
    file.write_bytes(file.read_bytes()[:300])
    _is_refused(file, "expected a parquet file")


def _is_refused(data: Path, said: str) -> None:
    with pytest.raises(ContentError, match=said) as caught:
        local_tasks(data, "train", 50)
    assert "\n" not in str(caught.value)
