"""A grid from its file to its table: cells are run, kept or resumed, then everything is written anew from them."""

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from coevo.errors import CoevoError, RunError
from coevo.experiments.cell_folder import CellFolder, donor_of, select, skill_completions
from coevo.experiments.cells import Cell, Layout, lay_out
from coevo.experiments.grid import read_grid
from coevo.experiments.results import compare
from coevo.experiments.rows import Row, State, to_csv
from coevo.experiments.running import CellRunner, Report
from coevo.experiments.tables import Provenance, page, table_csv
from coevo.records.files import write_json, write_text
from coevo.records.run_directory import SCHEMA_VERSION
from coevo.records.run_kind import GRID_FILES

GRID, CELLS = GRID_FILES
TABLE, PAGE, PROVENANCE = "table.csv", "table.md", "provenance.json"


@dataclass(frozen=True, slots=True)
class Request:
    """What to do with a grid.

    Attributes:
        file: The grid file.
        out: Where cells and tables are written.
        model: In place of the model in `[common]`.
        jobs: Cells at a time.
        only: Patterns of cells to run; all without.
        rerun: Patterns of cells to run anew.
        command: How the command was called, for the page.
    """

    file: Path
    out: Path
    model: str | None = None
    jobs: int = 1
    only: tuple[str, ...] = ()
    rerun: tuple[str, ...] = ()
    command: str = ""


def bench(request: Request, begin: Callable[[Sequence[Cell]], Report]) -> list[Row]:
    """Run a grid and write its tables.

    Args:
        request: What to run.
        begin: Called with the cells to run, gives the function that is told of their progress.

    Returns:
        Every cell of the grid, as in `cells.csv`.

    Raises:
        CoevoError: If the grid cannot be used, or a run that is there is not the search the grid asks for.
        KeyboardInterrupt: After every running cell has closed its run; the tables are not written then.
    """
    layout = lay_out(read_grid(request.file, model=request.model))
    redo = _redone(layout, request.rerun)
    cells = [cell for cell in select(layout.cells, request.only, "--only") if not request.rerun or cell.name in redo]
    for cell in layout.cells:
        if cell.name not in redo and not cell.matches:
            CellFolder(request.out, cell).check_config(cell.config)
    with locked(request.out):
        CellRunner(request.out, request.jobs, begin(cells)).run(cells, redo)
        return write(request, layout)


def _redone(layout: Layout, patterns: tuple[str, ...]) -> frozenset[str]:
    """Names of the cells to run anew: those that are named, and those whose budget is measured by one of them."""
    named = {cell.name for cell in select(layout.cells, patterns, "--rerun")} if patterns else set()
    return frozenset(cell.name for cell in layout.cells if {cell.name, cell.measured_by} & named)


def write(request: Request, layout: Layout) -> list[Row]:
    """Write `grid.toml`, `cells.csv`, `provenance.json`, `table.csv` and `table.md` from the cells on disk."""
    out = request.out
    if request.file.resolve() != (out / GRID).resolve():
        write_text(out / GRID, request.file.read_text(encoding="utf-8"))
    rows = rows_of(out, layout)
    done = [row for row in rows if row.state == "done"]
    provenance = Provenance(command=request.command, model=request.model, environments=environments(out, done))
    write_text(out / CELLS, to_csv(rows))
    write_json(out / PROVENANCE, {"schema_version": SCHEMA_VERSION, **provenance.model_dump(mode="json")})
    results = compare(layout, rows)
    write_text(out / TABLE, table_csv(results))
    write_text(out / PAGE, page(layout, rows, results, provenance))
    return rows


def rows_of(out: Path, layout: Layout) -> list[Row]:
    """Every cell in numbers, in the grid's order; a raised one that needs no run is left out."""
    return [row for cell in layout.cells if (row := row_of(out, cell)) is not None]


def state_of(out: Path, cell: Cell) -> State | Literal["not needed"]:
    """How far a cell is; "not needed" for one raised by nothing."""
    if not cell.matches:
        return CellFolder(out, cell).state()
    row = row_of(out, cell)
    return "not needed" if row is None else row.state


def row_of(out: Path, cell: Cell) -> Row | None:
    """One cell in numbers; None for one raised by nothing, which is the same as its arm whatever ran before."""
    folder = CellFolder(out, cell)
    try:
        return _raised_row(out, folder) if cell.matches else folder.row()
    except CoevoError as error:
        return folder.without_numbers("failed", str(error))


def _raised_row(out: Path, folder: CellFolder) -> Row | None:
    """The row of a cell that is to match another one; stale if its run does not match that one as it is now."""
    cell = folder.cell
    donor = donor_of(out, cell)
    if donor.state() != "done":
        if folder.failure():
            return folder.row()
        state: State = "missing" if folder.run() is None else "stale"
        return folder.without_numbers(state, f"it waits for {cell.measured_by}, which is {donor.state()}")
    completions = skill_completions(out, cell)
    if completions == 0:
        return None
    raised = CellFolder(out, cell.raised(completions))
    row = raised.row()
    if row.state in ("done", "capped", "unfinished") and raised.is_stale():
        return raised.without_numbers(
            "stale", f"its run is not of budget {raised.cell.config.budget}, which makes totals equal now; run it again"
        )
    return row


def environments(out: Path, rows: Iterable[Row]) -> tuple[Mapping[str, Any], ...]:
    """What the runs of rows ran on, each different one once, with the number of its cells.

    Raises:
        RunError: If the note of one of them cannot be read.
    """
    found: dict[str, int] = {}
    for row in rows:
        file = out / "cells" / row.cell / row.run / "environment.json"
        if not file.is_file():
            continue
        try:
            noted = dict(json.loads(file.read_text()))
        except (ValueError, TypeError, RecursionError) as error:
            raise RunError(f"{file} is not a JSON object: {error}") from error
        if not isinstance(noted.get("packages", {}), dict):
            raise RunError(f"expected a table of packages in {file}, got {noted['packages']!r:.60}")
        key = json.dumps({k: v for k, v in noted.items() if k not in ("model", "fingerprint")}, sort_keys=True)
        found[key] = found.get(key, 0) + 1
    return tuple({"cells": count, **json.loads(key)} for key, count in found.items())


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Hold a grid's output folder, made if it is not there.

    Raises:
        RunError: If another process holds it, or it cannot be made.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"expected a folder to write the grid to at {out}, got: {error.strerror}") from error
    lock = os.open(out, os.O_RDONLY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunError(f"{out} is in use by another coevo bench; wait for it, or take another --out") from None
        yield
    finally:
        os.close(lock)
