"""The questions of each split: generated ones, or those of a data set, divided so that no two splits share one."""

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from coevo.environments.math.columns import find_columns, read_pair
from coevo.environments.math.hub import NAMED, cached
from coevo.environments.math.questions import Pair, generated
from coevo.environments.math.tables import SUFFIXES, Row, read_rows
from coevo.errors import ConfigError, ContentError

SPLITS = ("train", "val", "test")

_NAMES = {"train": "train", "val": "val", "validation": "val", "valid": "val", "dev": "val", "test": "test"}
_SEED = 20260701
_SMALLEST_SHARE = 5
"""A data set without splits gives at most one question in five to val, and to test."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where questions come from.

    Attributes:
        data: Empty for generated ones, a file or folder, or one of `hub.NAMED`.
        test_data: The same, for the split test; empty to take it from `data`.
        question_column: Empty to guess.
        answer_column: Empty to guess.
        sizes: Most questions of each of `SPLITS`.
    """

    data: str
    test_data: str
    question_column: str
    answer_column: str
    sizes: tuple[int, int, int]


def questions(source: Source) -> Mapping[str, tuple[Pair, ...]]:
    """The questions of every split; a function of the source and of what its files hold.

    A question that is in several splits of a data set counts for test before val before train.

    Raises:
        ConfigError: If a size is not usable.
        ContentError: If the data cannot be read, or is too little for train and val.
    """
    if min(source.sizes[:2]) < 1 or source.sizes[2] < 0:
        raise ConfigError(f"expected at least 1 question in train and val and 0 in test, got {source.sizes}")
    named: dict[str, list[Pair]] = {}
    if source.test_data:
        named["test"] = [pair for pairs in _named(source.test_data, source).values() for pair in pairs]
    for split, pairs in _named(source.data, source).items():
        if not (split == "test" and source.test_data):
            named.setdefault(split, []).extend(pairs)
    return _divided(_without_repeats(named), source)


def _named(data: str, source: Source) -> dict[str, list[Pair]]:
    """Questions by the split that the data names, and under "" those of none."""
    if not data:
        return {"": generated(sum(source.sizes))}
    # Some published sets repeat every question a hundred times: repeats are dropped as they are read.
    found: dict[str, dict[str, str]] = {}
    for file in _files(data):
        for split, (question, answer) in _pairs(file, source):
            found.setdefault(split, {}).setdefault(question, answer)
    return {split: list(pairs.items()) for split, pairs in found.items()}


def _pairs(file: Path, source: Source) -> Iterable[tuple[str, Pair]]:
    columns = None
    for row in read_rows(file):
        columns = columns or find_columns(row, source.question_column, source.answer_column)
        yield _split_of(row), read_pair(row, columns)


def _split_of(row: Row) -> str:
    """The split that a row, its place in the file, or the file's name says; empty for none."""
    stem = row.file.stem.lower().replace("_", "-").split("-")[0]
    for name in (str(row.values.get("split", "")), row.split, stem):
        if name.lower() in _NAMES:
            return _NAMES[name.lower()]
    return ""


def _files(data: str) -> list[Path]:
    path = cached(data) if data in NAMED else Path(data).expanduser()
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise ContentError(f"expected data to be a file, a folder, {' or '.join(NAMED)}, found nothing at {path}")
    known = [file for file in sorted(path.rglob("*")) if file.suffix.lower() in SUFFIXES and file.is_file()]
    # Beside tables a hub folder has JSON files that describe it.
    files = [file for file in known if file.suffix.lower() != ".json"] or known
    if not files:
        raise ContentError(f"{path}: expected files that end in {', '.join(SUFFIXES)}, found none")
    return files


def _without_repeats(named: Mapping[str, list[Pair]]) -> dict[str, list[Pair]]:
    seen: set[str] = set()
    kept: dict[str, list[Pair]] = {}
    for split in ("test", "val", "train", ""):
        for question, answer in named.get(split, ()):
            key = " ".join(question.split())
            if key not in seen:
                seen.add(key)
                kept.setdefault(split, []).append((question, answer))
    return kept


def _divided(named: dict[str, list[Pair]], source: Source) -> Mapping[str, tuple[Pair, ...]]:
    """Fill the splits that the data does not name, and cut all to their sizes."""
    rest = [*named.pop("train", []), *named.pop("", [])]
    if source.data:
        random.Random(_SEED).shuffle(rest)
    sizes = dict(zip(SPLITS, source.sizes, strict=True))
    share = len(rest) // _SMALLEST_SHARE if source.data else len(rest)
    for split, least in (("val", 1), ("test", 0)):
        if split not in named:
            count = min(sizes[split], max(share, least))
            named[split], rest = rest[:count], rest[count:]
    named["train"] = rest
    if not named["train"] or not named["val"]:
        raise ContentError(
            f"{source.data}: expected questions for train and for val, found too few ({len(rest) + len(named['val'])}, "
            f"besides {len(named['test'])} of a split test); a set that is a test alone goes into --option test_data="
        )
    return {split: tuple(named[split][: sizes[split]]) for split in SPLITS}
