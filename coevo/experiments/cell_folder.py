"""A cell's folder: its runs, and a note of why its last attempt failed.

The newest run in it is the one that counts; a run that was redone stays beside it.
"""

import json
import os.path
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from coevo.errors import ConfigError, RunError
from coevo.experiments.cells import Cell
from coevo.experiments.flattening import dotted
from coevo.experiments.rows import Row, State, numbers_of
from coevo.experiments.run_summary import summarise
from coevo.learning.paying import CAP_STATUSES
from coevo.records.files import write_json
from coevo.searching.api import FINAL, config_of, load_run
from coevo.searching.config import SearchConfig

_ALLOWANCE = "allowance."
"""Begins the names of fields that change no number of a run, but whether it comes to its end."""

CAPPED = "it reached its cap before the end of its plan; raise the cap in the grid, and the same command goes on"


class CellFolder:
    """One cell on disk, below the grid's output folder."""

    def __init__(self, out: Path, cell: Cell):
        self.cell = cell
        self.path = out / "cells" / cell.name

    @property
    def log(self) -> Path:
        """What the cell's process wrote to standard error."""
        return self.path / "stderr.txt"

    @property
    def _note(self) -> Path:
        return self.path / "failure.json"

    def run(self) -> Path | None:
        """The run that counts."""
        runs = sorted(file.parent for file in self.path.glob("*/config.toml"))
        return runs[-1] if runs else None

    def failure(self) -> str:
        """Why the last attempt failed, or no attempt can succeed; empty if neither."""
        if obstacle := self._obstacle():
            return obstacle
        if not self._note.is_file():
            return ""
        try:
            return str(json.loads(self._note.read_text(encoding="utf-8"))["error"])
        except (ValueError, TypeError, KeyError, RecursionError):
            return f"for a reason that cannot be read in {self._note}"

    def _obstacle(self) -> str:
        """What keeps the folder from being made; empty if nothing does."""
        there = next(path for path in (self.path, *self.path.absolute().parents) if os.path.lexists(path))
        return "" if there.is_dir() else f"expected a folder at {there}, found something else; move it away"

    def fail(self, error: str) -> None:
        """Note a failed attempt, unless what is in the way of the folder says it already."""
        if self._obstacle():
            return
        self.path.mkdir(parents=True, exist_ok=True)
        write_json(self._note, {"schema_version": 1, "error": error})

    def clear(self) -> None:
        """Forget a failed attempt."""
        self._note.unlink(missing_ok=True)

    def state(self) -> State:
        """How far the cell is."""
        run = self.run()
        if self.failure():
            return "failed"
        if run is None:
            return "missing"
        result = load_run(run).result
        if result is not None and result.status in CAP_STATUSES:
            return "capped"
        return "done" if result is not None and result.status in FINAL else "unfinished"

    def raises_cap(self) -> bool:
        """Whether the run that counts ended at a cap, and the grid has another allowance now: then it goes on."""
        run = self.run()
        return run is not None and self.state() == "capped" and config_of(run).allowance != self.cell.config.allowance

    def is_stale(self) -> bool:
        """Whether the run that counts has another budget than the cell."""
        run = self.run()
        return run is not None and config_of(run).budget != self.cell.config.budget

    def check_config(self, expected: SearchConfig) -> None:
        """Refuse a run that is not the search the grid asks for now; what servers may be paid may be other.

        Raises:
            RunError: Naming the first field that differs.
        """
        run = self.run()
        if run is None:
            return
        mine, theirs = flat(expected), flat(config_of(run))
        for name, value in mine.items():
            if theirs.get(name) != value and not name.startswith(_ALLOWANCE):
                raise RunError(
                    f"expected the run of cell {self.cell.name} to have {name} = {value!r}, as the grid says, got "
                    f"{theirs.get(name)!r}; in {run}; take another --out, or redo it with --rerun '{self.cell.name}'"
                )

    def row(self) -> Row:
        """The cell in numbers.

        Raises:
            RunError: If its run cannot be read, or its result is not what its events say.
        """
        state, run = self.state(), self.run()
        row = self.without_numbers(state, CAPPED if state == "capped" else self.failure())
        return row if state != "done" or run is None else replace(row, **numbers_of(summarise(run)))

    def without_numbers(self, state: State, detail: str = "") -> Row:
        """A row that says nothing but how far the cell is, and why."""
        return Row(self.cell.problem, self.cell.budget, self.cell.arm, self.cell.seed, state, detail)


def flat(config: SearchConfig) -> dict[str, Any]:
    """Every value of a configuration by its dotted name."""
    return dotted(config.model_dump(mode="json"))


def donor_of(out: Path, cell: Cell) -> CellFolder:
    """The folder of the cell that decides this one's budget."""
    return CellFolder(out, Cell(cell.problem, cell.budget, cell.matches, cell.seed, cell.config))


def skill_completions(out: Path, cell: Cell) -> int:
    """What the cell that decides this one's budget was charged for skills.

    Raises:
        RunError: If that cell is not done.
    """
    other = donor_of(out, cell)
    run = other.run()
    if run is None or other.state() != "done" or (result := load_run(run).result) is None:
        how = "raise its cap" if other.state() == "capped" else "run it"
        raise RunError(f"expected the cell {cell.measured_by} to be done first, it is {other.state()}; {how}")
    return result.budget.skill


def select(cells: tuple[Cell, ...], patterns: tuple[str, ...], flag: str) -> list[Cell]:
    """The cells whose name any pattern matches, `*` and `?` standing for anything; all without a pattern.

    Raises:
        ConfigError: If a pattern matches no cell.
    """
    for pattern in patterns:
        if not any(fnmatchcase(cell.name, pattern) for cell in cells):
            raise ConfigError(
                f"expected {flag} to match a cell (problem/budget/arm/seed), got {pattern!r}; a cell is {cells[0].name}"
            )
    return [cell for cell in cells if not patterns or any(fnmatchcase(cell.name, each) for each in patterns)]
