"""The tasks of each split: published byte by byte, new ones with one solution, splits without a common solution."""

import hashlib
import json
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import pytest

from coevo.environments.sudoku.boards import new_tasks
from coevo.environments.sudoku.environment import tasks
from coevo.environments.sudoku.published import published_rows, published_text
from coevo.errors import ConfigError, ContentError
from coevo.interfaces import Task
from coevo.sudoku_boards import compact, from_compact, share_of, solutions, without

SPLITS = ("train", "val", "test")
DIGESTS = {
    "train": "cd66364e776831b8c40be9e0b91b38605daee086bfb1dd829ac5b43ae675df59",
    "eval": "10b072c941f2716da1e047cc9068ee5765983c50ab16b6ffe356f59b03a26388",
}


@pytest.mark.parametrize("file", DIGESTS)
def test_published_files_come_out_byte_by_byte(file: str) -> None:
    """The digests are those of the published files."""
    assert hashlib.sha256(published_text(file).encode()).hexdigest() == DIGESTS[file]


@pytest.mark.parametrize("blanks", [5, 10, 15, 20])
def test_published_tasks_are_the_rows_of_the_files(blanks: int) -> None:
    """Train and test hold the 32 boards of each number of blanks, in file order, and val 32 others."""
    found = {split: tasks(split, blanks=blanks, data="published") for split in SPLITS}
    listed = {file: [row["id"] for row in published_rows(file) if row["mask_count"] == blanks] for file in DIGESTS}

    assert [task.name for task in found["train"]] == listed["train"]
    assert [task.name for task in found["test"]] == listed["eval"]
    assert {len(part) for part in found.values()} == {32}


@pytest.mark.parametrize(("blanks", "data"), [(5, ""), (20, ""), (31, ""), (5, "published"), (20, "published")])
def test_every_board_has_exactly_its_solution(blanks: int, data: str) -> None:
    """Each task's puzzle has the asked number of blanks and one solution, the one it names."""
    for split in SPLITS:
        for task in tasks(split, blanks=blanks, data=data, size=16):
            puzzle = from_compact(task.data["puzzle"])
            assert puzzle.count(0) == blanks
            assert solutions(puzzle) == [from_compact(task.data["solution"])]


@pytest.mark.parametrize("data", ["", "published"])
def test_no_two_splits_share_a_solution(data: str) -> None:
    """Solutions are different within a split and across splits; the published ones are no validation boards."""
    size = 32 if data else 300
    solved = {split: [task.data["solution"] for task in tasks(split, data=data, size=size)] for split in SPLITS}
    every = [solution for part in solved.values() for solution in part]

    assert len(every) == len(set(every)) == 3 * size


def test_new_boards_have_solutions_of_their_share() -> None:
    """The share of a solution is its split, so what has the share "corpus" is never a task."""
    for split in SPLITS:
        assert {share_of(from_compact(task.data["solution"])) for task in new_tasks(split, 5, 20)} == {split}


def test_banned_solutions_are_left_out() -> None:
    """Without its first board a split begins with its second."""
    first, second = new_tasks("val", 5, 2)
    found = new_tasks("val", 5, 1, {from_compact(first.data["solution"])})

    assert found[0].data == second.data


def test_a_larger_split_begins_with_the_smaller_one() -> None:
    """Asking for more boards changes none of the first, and asking twice gives the same."""
    assert tasks("test", size=40)[:8] == tasks("test", size=8)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"blanks": 0}, "expected 1 to 45 blanks, got 0"),
        ({"blanks": 46}, "expected 1 to 45 blanks, got 46"),
        ({"size": 0}, "expected a size of 1 to"),
        ({"blanks": 7, "data": "published"}, "expected one of"),
        ({"size": 33, "data": "published"}, "expected a size of at most 32"),
        ({"data": "no-such-folder"}, "expected data= empty, 'published' or a folder"),
    ],
)
def test_options_out_of_range_are_refused(options: dict, words: str) -> None:
    """An option that no data set has is one line that says what there is."""
    with pytest.raises(ConfigError, match=words):
        tasks("train", **options)


def test_unknown_split_is_refused() -> None:
    """There are train, val and test; the share that the player was taught from is none of them."""
    with pytest.raises(ConfigError, match="expected a split of train, val, test, got 'corpus'"):
        tasks("corpus")


def write(folder: Path, split: str, rows: list[dict | str]) -> None:
    """Write a file of a user's."""
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    (folder / f"{split}.jsonl").write_text("\n".join(lines) + "\n")


def test_boards_of_the_user_are_read(tmp_path: Path, random_task: Callable[[int, int], Task]) -> None:
    """Boards as text and as lists, with and without an id; those with other numbers of blanks are passed over."""
    one, two, other = random_task(1, 5), random_task(2, 5), random_task(3, 6)
    grid = [[int(c) if c != "." else 0 for c in two.data["puzzle"][r : r + 9]] for r in range(0, 81, 9)]
    write(
        tmp_path,
        "train",
        [{"puzzle": one.data["puzzle"]}, {"puzzle": other.data["puzzle"]}, {"id": "b", "puzzle": grid}],
    )
    found = tasks("train", data=str(tmp_path), size=2)

    assert [task.name for task in found] == ["train-000001", "b"]
    assert [task.data["puzzle"] for task in found] == [one.data["puzzle"], two.data["puzzle"]]


def test_published_text_reads_as_boards_of_the_user(tmp_path: Path) -> None:
    """The published format is the user's format."""
    (tmp_path / "train.jsonl").write_text(published_text("train"))

    assert tasks("train", data=str(tmp_path)) == tasks("train", data="published")


@pytest.mark.parametrize(
    "line",
    [
        "[1]",
        "{}",
        "nonsense",
        '{"puzzle": "1"}',
        '{"puzzle": [[1, 2]]}',
        '{"puzzle": 5}',
        '{"puzzle": [[12]]}',
        "[" * 999_999,
    ],
)
def test_a_line_that_is_no_board_is_named(tmp_path: Path, line: str) -> None:
    """The file and the line are in the error."""
    write(tmp_path, "train", [line])
    with pytest.raises(ContentError, match=r"train\.jsonl, line 1: expected an object"):
        tasks("train", data=str(tmp_path), size=1)


def test_boards_of_the_user_are_checked(tmp_path: Path, random_task: Callable[[int, int], Task]) -> None:
    """Boards without a solution, twice the same id, too few boards and common boards are refused."""
    good = random_task(1, 5).data["puzzle"]
    taken = next(c for c in good[:9] if c != ".")
    write(tmp_path, "train", [{"puzzle": taken * 5 + "." * 5 + good[10:]}])
    blanks = (taken * 5 + "." * 5 + good[10:]).count(".")
    with pytest.raises(ContentError, match="this one cannot"):
        tasks("train", data=str(tmp_path), size=1, blanks=blanks)
    write(tmp_path, "train", [{"id": 1, "puzzle": good}, {"id": 1, "puzzle": good}])
    with pytest.raises(ContentError, match="a second time"):
        tasks("train", data=str(tmp_path), size=1)
    write(tmp_path, "train", [{"puzzle": good}])
    with pytest.raises(ContentError, match="expected 2 boards with 5 blanks, got 1"):
        tasks("train", data=str(tmp_path), size=2)


@pytest.mark.parametrize("asked", SPLITS)
@pytest.mark.parametrize("pair", list(combinations(SPLITS, 2)), ids="-".join)
@pytest.mark.parametrize("kind", ["board", "solution"])
def test_splits_of_the_user_share_no_board(
    tmp_path: Path, random_task: Callable[[int, int], Task], asked: str, pair: tuple[str, str], kind: str
) -> None:
    """Any two that do are refused, whichever split is asked for: by puzzle, and by solution under other blanks."""
    own = {split: random_task(seed, 5).data for seed, split in enumerate(SPLITS)}
    common = from_compact(own[pair[0]]["solution"])
    other = from_compact(own[pair[0]]["puzzle"]) if kind == "board" else without(common, (0, 20, 40, 60, 80))
    for split in SPLITS:
        rows: list[dict | str] = [{"puzzle": own[split]["puzzle"]}]
        write(tmp_path, split, [*rows, {"id": "again", "puzzle": compact(other)}] if split == pair[1] else rows)
    message = rf"expected {pair[0]}\.jsonl and {pair[1]}\.jsonl to have different .* 1 of {pair[1]} .* 'again'"
    with pytest.raises(ContentError, match=message):
        tasks(asked, data=str(tmp_path), size=1)


def test_splits_of_the_user_that_differ_are_read(tmp_path: Path, random_task: Callable[[int, int], Task]) -> None:
    """Each of them, and a folder need not have all three."""
    for seed, split in enumerate(SPLITS):
        write(tmp_path, split, [{"puzzle": random_task(seed, 5).data["puzzle"]}])
    assert len({tasks(split, data=str(tmp_path), size=1)[0].data["solution"] for split in SPLITS}) == 3
    (tmp_path / "test.jsonl").unlink()
    assert len(tasks("val", data=str(tmp_path), size=1)) == 1
