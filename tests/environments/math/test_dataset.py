"""Data sets of the user's are read, divided, and refused in one line."""

import json
from pathlib import Path
from typing import Any

import pytest

from coevo.environments.math.environment import tasks
from coevo.errors import CoevoError, ConfigError, ContentError, ExtraMissingError


def rows(count: int, start: int = 0) -> list[dict[str, Any]]:
    """Questions that differ, with their answers."""
    return [{"question": f"What is {n} + 1?", "answer": str(n + 1)} for n in range(start, start + count)]


def jsonl(path: Path, entries: list[dict[str, Any]]) -> Path:
    """A file with a row on each line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return path


def asked(split: str, **options: Any) -> list[str]:
    """The questions of a split."""
    return [task.data["question"] for task in tasks(split, **options)]


def test_generated_questions_are_divided() -> None:
    """Out of the box there are three splits of the sizes asked for, without a common question."""
    found = {split: asked(split, train=30, val=10, test=5) for split in ("train", "val", "test")}
    assert {split: len(questions) for split, questions in found.items()} == {"train": 30, "val": 10, "test": 5}
    assert len({question for questions in found.values() for question in questions}) == 45


def test_more_training_changes_no_other_split() -> None:
    """Val and test stay what they are when train grows."""
    assert asked("val", train=30, val=10, test=5) == asked("val", train=300, val=10, test=5)
    assert asked("test", train=30, val=10, test=5) == asked("test", train=300, val=10, test=5)


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv", ".parquet"])
def test_every_kind_of_file_is_read_alike(suffix: str, tmp_path: Path) -> None:
    """The same rows give the same tasks, whatever file they come in."""
    entries, file = rows(20), tmp_path / f"data{suffix}"
    if suffix == ".jsonl":
        jsonl(file, entries)
    elif suffix == ".json":
        file.write_text(json.dumps(entries))
    elif suffix == ".csv":
        file.write_text("question,answer\n" + "".join(f'"{e["question"]}",{e["answer"]}\n' for e in entries))
    else:
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist(entries), file)
    found = {split: tasks(split, data=str(file)) for split in ("train", "val", "test")}
    assert {split: len(tasks) for split, tasks in found.items()} == {"train": 12, "val": 4, "test": 4}
    for task in found["train"]:
        assert int(task.data["answer"]) == int(task.data["question"].split()[2]) + 1
    reference = jsonl(tmp_path / "reference" / "data.jsonl", entries)
    assert [task.data for task in found["val"]] == [task.data for task in tasks("val", data=str(reference))]


def test_splits_that_files_name_are_kept(tmp_path: Path) -> None:
    """Names as the hub writes them; what is missing comes out of train, never out of test."""
    jsonl(tmp_path / "data" / "train-00000-of-00001.jsonl", rows(20))
    jsonl(tmp_path / "data" / "test-00000-of-00001.jsonl", rows(6, 100))
    (tmp_path / "dataset_infos.json").write_text("{}")
    assert set(asked("test", data=str(tmp_path))) == {row["question"] for row in rows(6, 100)}
    train, val = asked("train", data=str(tmp_path)), asked("val", data=str(tmp_path))
    assert {*train, *val} == {row["question"] for row in rows(20)}
    assert len(val) == 4


def test_splits_that_rows_name_are_kept(tmp_path: Path) -> None:
    """A column split, or one list for each split in JSON."""
    entries = [{**row, "split": split} for split, at in (("train", 0), ("validation", 9)) for row in rows(5, at)]
    file = jsonl(tmp_path / "set.jsonl", entries)
    assert set(asked("val", data=str(file))) == {row["question"] for row in rows(5, 9)}
    whole = tmp_path / "set.json"
    whole.write_text(json.dumps({"train": rows(5), "test": rows(5, 9)}))
    assert set(asked("test", data=str(whole))) == {row["question"] for row in rows(5, 9)}


def test_no_split_shares_a_question(tmp_path: Path) -> None:
    """A question that a data set has in train and test is only tested; repeats are dropped."""
    jsonl(tmp_path / "train.jsonl", rows(10) + rows(10))
    jsonl(tmp_path / "test.jsonl", [{"question": " What is  3 + 1?", "answer": "4"}])
    train, val = asked("train", data=str(tmp_path)), asked("val", data=str(tmp_path))
    assert "What is 3 + 1?" not in train + val
    assert len({*train, *val}) == len(train) + len(val) == 9


def test_a_test_of_its_own(tmp_path: Path) -> None:
    """Another set is the split test, all of it, and nothing of it is trained on."""
    data = jsonl(tmp_path / "data.jsonl", rows(20))
    other = jsonl(tmp_path / "other.jsonl", rows(5, 18))
    options = {"data": str(data), "test_data": str(other)}
    assert set(asked("test", **options)) == {row["question"] for row in rows(5, 18)}
    assert {*asked("train", **options), *asked("val", **options)} == {row["question"] for row in rows(18)}


@pytest.mark.parametrize(
    ("entry", "question", "answer"),
    [
        ({"problem": "P", "solution": r"so \boxed{\frac{1}{2}}"}, "P", r"\frac{1}{2}"),
        ({"prompt": "P", "answer": 7}, "P", "7"),
        ({"prompt": "P", "answer": 7.0}, "P", "7"),
        ({"prompt": "P", "answer": 7.5}, "P", "7.5"),
        ({"question": "P", "answer": "first 3\n#### 1,234"}, "P", "1,234"),
        ({"question": "P", "answer": "$5$"}, "P", "5"),
        ({"prompt": [{"role": "user", "content": "P"}], "reward_model": {"ground_truth": "34"}}, "P", "34"),
        ({"problem": "P", "solution": "long " * 50 + "\nAnswer: 3", "answer": None}, "P", "3"),
    ],
)
def test_columns_as_they_are_published(entry: dict[str, Any], question: str, answer: str, tmp_path: Path) -> None:
    """Names, messages, worked solutions and nested answers."""
    file = jsonl(tmp_path / "data.jsonl", [{**entry, "split": "test"}, *({**entry, **row} for row in _others(entry))])
    (task,) = tasks("test", data=str(file))
    assert task.data == {"question": question, "answer": answer}


def _others(entry: dict[str, Any]) -> list[dict[str, Any]]:
    name = next(name for name in ("question", "problem", "prompt") if name in entry)
    return [{name: f"other {number}", "split": split} for number, split in enumerate(("train", "val"))]


def test_columns_can_be_named(tmp_path: Path) -> None:
    """Where nothing can be guessed, the user says."""
    entries = [{"q": f"Q{n}", "a": {"value": n}} for n in range(10)]
    file = jsonl(tmp_path / "data.jsonl", entries)
    found = tasks("train", data=str(file), question_column="q", answer_column="a.value")
    assert all(task.data["question"] == f"Q{task.data['answer']}" for task in found)


BAD = {
    "not-json": ("data.jsonl", '{"question": "a", "answer": "1"}\n{oops\n', "line 2: expected JSON"),
    "not-an-object": ("data.jsonl", "[1]\n", "line 1: expected an object"),
    "no-question": ("data.jsonl", '{"q": "a", "answer": "1"}\n', "question or problem or prompt.*there are q, answer"),
    "no-answer": ("data.jsonl", '{"question": "a", "b": "1"}\n', "with the answer.*--option answer_column=NAME"),
    "empty-question": ("data.jsonl", '{"question": " ", "answer": "1"}\n', "line 1: expected a question"),
    "no-mark": ("data.jsonl", json.dumps({"question": "a", "answer": "word " * 99}), "line 1: expected an answer"),
    "a-list": ("data.jsonl", '{"question": "a", "answer": [1]}\n', "line 1: expected an answer"),
    "late": ("data.jsonl", '{"question": "a", "answer": "1"}\n{"question": "b"}\n', "line 2: expected an answer"),
    "empty": ("data.jsonl", "", "too few"),
    "one": ("data.jsonl", '{"question": "a", "answer": "1"}\n', "too few"),
    "json-number": ("data.json", "5", "expected a list of objects"),
    "json-deep": ("data.json", "[" * 100_000, "expected JSON"),
    "json-broken": ("data.json", "[\n{,", "line 2: expected JSON"),
    "csv-quote": ("data.csv", 'question,answer\n"a,1\n', "expected CSV"),
    "csv-columns": ("data.csv", "x,y\n1,2\n", "there are x, y"),
    "parquet": ("data.parquet", "this is none", "expected a parquet file"),
    "latin": ("data.jsonl", "caf\udce9", "expected UTF-8"),
    "kind": ("data.txt", "question", "ends in .jsonl"),
}


@pytest.mark.parametrize(("name", "content", "said"), BAD.values(), ids=BAD.keys())
def test_bad_files_are_refused(name: str, content: str, said: str, tmp_path: Path) -> None:
    """One line that names the file, what was expected and what came."""
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    file = tmp_path / name
    file.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(ContentError, match=said) as error:
        tasks("train", data=str(file))
    assert str(file) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_folder_without_files_is_refused(tmp_path: Path) -> None:
    """So is a place where nothing is."""
    with pytest.raises(ContentError, match=r"files that end in \.jsonl"):
        tasks("train", data=str(tmp_path))
    with pytest.raises(ContentError, match="found nothing at"):
        tasks("train", data=str(tmp_path / "gone"))


def test_parquet_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra that brings it is named."""
    file = tmp_path / "data.parquet"
    file.write_bytes(b"PAR1")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ExtraMissingError, match=r"pyarrow.*coevo\[agents\]"):
        tasks("train", data=str(file))


@pytest.mark.parametrize("options", [{"train": 0}, {"val": 0}, {"test": -1}])
def test_sizes_that_make_no_sense(options: dict[str, int]) -> None:
    """They are refused before anything is read."""
    with pytest.raises(ConfigError, match="at least 1 question"):
        tasks("train", **options)


def test_an_unknown_split() -> None:
    """It is named."""
    with pytest.raises(CoevoError, match="'dev'"):
        tasks("dev")


def test_published_sets_come_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By name, from the newest snapshot that is there; where there is none the command that fetches it is told."""
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    with pytest.raises(ContentError, match="hf download --repo-type dataset open-r1/DAPO-Math-17k-Processed"):
        tasks("train", data="dapo")
    snapshot = tmp_path / "hub" / "datasets--HuggingFaceH4--aime_2024" / "snapshots" / "abc"
    jsonl(snapshot / "data" / "train-00000-of-00001.jsonl", [{"problem": "P", "answer": "204"}])
    assert [task.data for task in tasks("test", test_data="aime", train=5, val=5)] == [
        {"question": "P", "answer": "204"}
    ]


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999", '"nan"', '" -inf "', '"\\\\boxed{inf}"'])
def test_an_answer_that_is_no_number_is_refused_with_its_line(text: str, tmp_path: Path) -> None:
    """What a tool wrote for a missing or overflown number is no reference; the message names file and line."""
    file = jsonl(tmp_path / "set.jsonl", rows(9))
    file.write_text(file.read_text() + f'{{"question": "What is 0/0?", "answer": {text}}}\n')
    with pytest.raises(ContentError, match=r"set\.jsonl, line 10: expected an answer in answer"):
        tasks("train", data=str(file))


def test_an_answer_that_is_no_number_is_refused_in_tables_as_well(tmp_path: Path) -> None:
    """In CSV it is a text, in parquet a number."""
    csv = tmp_path / "set.csv"
    csv.write_text("question,answer\nWhat is 1 + 1?,2\nWhat is 0/0?,nan\n")
    with pytest.raises(ContentError, match=r"set\.csv, line 2: expected an answer in answer"):
        tasks("train", data=str(csv))
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    entries = [{"question": f"What is {n} / 2?", "answer": n / 2 if n < 9 else float("inf")} for n in range(10)]
    parquet.write_table(pyarrow.Table.from_pylist(entries), tmp_path / "set.parquet")
    with pytest.raises(ContentError, match=r"set\.parquet, line 10: expected an answer in answer"):
        tasks("train", data=str(tmp_path / "set.parquet"))


@pytest.mark.parametrize("answer", [10**400, -(10**400), 1e300, 0.1, "\\infty", "infinitely many", "1e5"])
def test_answers_of_any_size_are_kept(answer: Any, tmp_path: Path) -> None:
    """Large numbers, ∞ as mathematics writes it, and words that only begin like one."""
    file = jsonl(tmp_path / "set.jsonl", [*rows(9), {"question": "Which one?", "answer": answer}])
    kept = {t.data["question"]: t.data["answer"] for s in ("train", "val", "test") for t in tasks(s, data=str(file))}
    assert kept["Which one?"] == (str(int(answer)) if answer == 1e300 else str(answer))
