"""`cells.csv`: what the table of a grid is computed from, one row per cell, exact to the last bit.

A row holds the hash of the run's event log, so that a number can be traced to the events and an edited one is found.
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

from coevo.errors import RunError
from coevo.experiments.run_summary import RunSummary

Key = tuple[str, int, str, int]
"""Problem, budget, arm and seed of a cell."""

State = Literal["done", "capped", "failed", "unfinished", "missing", "stale"]
"""A cell's run has ended; it has ended at a cap on what servers cost, before its plan did, and is not compared; its
last attempt failed; it was interrupted; it has not been started; or, of a cell raised to equal totals, its run has
ended at another budget than the one it is to match now."""


@dataclass(frozen=True, slots=True)
class Row:
    """A cell in numbers; all of them are None unless it is done.

    `detail` is why it failed or is stale. `run` is the run directory's name within the cell's folder. The other fields
    are those of `RunSummary`; `objectives` (own sense) and `gaps` are by split, None where the best heuristic has no
    value. A row that was read from a file has every split of its grid, those of other problems included: ask by split.
    """

    problem: str
    budget: int
    arm: str
    seed: int
    state: State
    detail: str = ""
    run: str = ""
    events_sha256: str = ""
    status: str = ""
    operator: int | None = None
    on_top: int | None = None
    skill: int | None = None
    planned: int | None = None
    tokens: int | None = None
    wall_s: float | None = None
    evaluator_search_s: float | None = None
    evaluator_s: float | None = None
    children: int | None = None
    valid: int | None = None
    objectives: Mapping[str, float | None] = field(default_factory=dict)
    gaps: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        """What no two rows of a grid share."""
        return self.problem, self.budget, self.arm, self.seed

    @property
    def cell(self) -> str:
        """The cell's name."""
        return f"{self.problem}/{self.budget}/{self.arm}/s{self.seed}"


_TEXTS = ("problem", "arm", "state", "detail", "run", "events_sha256", "status")
_REALS = ("wall_s", "evaluator_search_s", "evaluator_s")
_PLAIN = tuple(each.name for each in fields(Row) if each.name not in ("objectives", "gaps"))
_COPIED = tuple(name for name in _PLAIN if name in {each.name for each in fields(RunSummary)} - {"run"})
_SPLIT = "objective "
_GAP = "gap "


def numbers_of(summary: RunSummary) -> dict[str, Any]:
    """The fields of a row that come from a run."""
    return {
        **{name: getattr(summary, name) for name in _COPIED},
        "run": summary.run.name,
        "objectives": {split: value.objective for split, value in summary.splits.items()},
        "gaps": {split: value.gap for split, value in summary.splits.items()},
    }


def to_csv(rows: Sequence[Row]) -> str:
    """Rows as CSV; two columns for each split of any problem, empty where there is no value."""
    splits = list(dict.fromkeys(split for row in rows for split in row.objectives))
    names = [*_PLAIN, *(f"{kind}{split}" for split in splits for kind in (_SPLIT, _GAP))]
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        values = {name: getattr(row, name) for name in _PLAIN}
        values |= {f"{_SPLIT}{split}": value for split, value in row.objectives.items()}
        values |= {f"{_GAP}{split}": value for split, value in row.gaps.items()}
        writer.writerow({name: written(value) for name, value in values.items()})
    return out.getvalue()


def read_rows(path: Path) -> list[Row]:
    """The rows of a `cells.csv`.

    Raises:
        RunError: If it is missing, or a line is not a row.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise RunError(
            f"expected the cells of a grid at {path}, got: {error.strerror}; run coevo bench first"
        ) from error
    except UnicodeDecodeError as error:
        raise RunError(f"expected UTF-8 text in {path}, got {error.reason} at byte {error.start}") from error
    rows: list[Row] = []
    try:
        for record in csv.DictReader(io.StringIO(text)):
            rows.append(_row(record))
    except (KeyError, ValueError, TypeError, AttributeError, csv.Error) as error:
        raise RunError(f"{path}, line {len(rows) + 2}: expected a cell of a grid, got {error!r}") from error
    return rows


def _row(record: Mapping[str, str]) -> Row:
    values: dict[str, Any] = {name: _read(name, record[name]) for name in _PLAIN}
    if values["state"] not in get_args(State):
        raise ValueError(f"state {values['state']!r}")
    objectives = _by_split(record, _SPLIT)
    gaps = _by_split(record, _GAP)
    return Row(**values, objectives=objectives, gaps=gaps)


def _by_split(record: Mapping[str, str], prefix: str) -> dict[str, float | None]:
    found = {name.removeprefix(prefix): text for name, text in record.items() if name.startswith(prefix)}
    return {split: float(text) if text else None for split, text in found.items()}


def _read(name: str, text: str) -> Any:
    if name in _TEXTS:
        return text
    if not text:
        return None
    return float(text) if name in _REALS else int(text)


def written(value: Any) -> str:
    """A value as CSV: nothing for None, every digit of a float."""
    if value is None:
        return ""
    return repr(value) if isinstance(value, float) else str(value)


def differences(recorded: Iterable[Row], traced: Mapping[Key, Row]) -> list[str]:
    """What rows say otherwise than the rows that were computed anew, one line per number."""
    lines = []
    for row in recorded:
        anew = traced.get(row.key)
        if anew is None:
            continue
        for name in _PLAIN:
            if getattr(row, name) != getattr(anew, name):
                lines.append(f"{row.cell}: {name} is {getattr(row, name)}, the run says {getattr(anew, name)}")
        for name in ("objectives", "gaps"):
            said, found = getattr(row, name), getattr(anew, name)
            for split in dict.fromkeys([*said, *found]):
                if said.get(split) != found.get(split):
                    word = f"{name[:-1]} on {split}"
                    lines.append(f"{row.cell}: {word} is {said.get(split)}, the run says {found.get(split)}")
    return lines
