"""A grid from its file to its table: cells are run, kept or resumed, then everything is written anew from them."""

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coevo.errors import CoevoError, RunError
from coevo.experiments.cell_folder import CellFolder, select
from coevo.experiments.cells import Cell, Layout, lay_out
from coevo.experiments.grid import read_grid
from coevo.experiments.results import compare
from coevo.experiments.rows import Row, to_csv
from coevo.experiments.running import CellRunner, Report, skill_completions
from coevo.experiments.tables import Provenance, page, table_csv
from coevo.records.files import write_json, write_text
from coevo.records.run_directory import SCHEMA_VERSION

GRID, CELLS, TABLE, PAGE, PROVENANCE = "grid.toml", "cells.csv", "table.csv", "table.md", "provenance.json"


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
    redo = {cell.name for cell in select(layout.cells, request.rerun, "--rerun")} if request.rerun else set()
    cells = [cell for cell in select(layout.cells, request.only, "--only") if not request.rerun or cell.name in redo]
    for cell in layout.cells:
        if cell.name not in redo and not cell.matches:
            CellFolder(request.out, cell).check_config(cell.config)
    with locked(request.out):
        CellRunner(request.out, request.jobs, begin(cells)).run(cells, frozenset(redo))
        return write(request, layout)


def write(request: Request, layout: Layout) -> list[Row]:
    """Write `grid.toml`, `cells.csv`, `provenance.json`, `table.csv` and `table.md` from the cells on disk."""
    out = request.out
    if request.file.resolve() != (out / GRID).resolve():
        write_text(out / GRID, request.file.read_text(encoding="utf-8"))
    rows = rows_of(out, layout)
    provenance = Provenance(
        command=request.command, model=request.model, jobs=request.jobs, environments=environments(out, layout)
    )
    write_text(out / CELLS, to_csv(rows))
    write_json(out / PROVENANCE, {"schema_version": SCHEMA_VERSION, **provenance.model_dump(mode="json")})
    results = compare(layout, rows)
    write_text(out / TABLE, table_csv(results))
    write_text(out / PAGE, page(layout, rows, results, provenance))
    return rows


def rows_of(out: Path, layout: Layout) -> list[Row]:
    """Every cell in numbers, in the grid's order; a raised one that is the same as its arm is left out."""
    return [row for cell in layout.cells if (row := row_of(out, cell)) is not None]


def row_of(out: Path, cell: Cell) -> Row | None:
    """One cell in numbers; None for one raised by nothing."""
    folder = CellFolder(out, cell)
    try:
        if cell.matches and folder.run() is None and skill_completions(out, cell) == 0:
            return None
        return folder.row()
    except CoevoError as error:
        return Row(cell.problem, cell.budget, cell.arm, cell.seed, "failed", detail=str(error))


def environments(out: Path, layout: Layout) -> tuple[Mapping[str, Any], ...]:
    """What the cells ran on, each different one once, with the number of its cells."""
    found: dict[str, int] = {}
    for cell in layout.cells:
        run = CellFolder(out, cell).run()
        if run is None or not (file := run / "environment.json").is_file():
            continue
        values = {k: v for k, v in json.loads(file.read_text()).items() if k not in ("model", "fingerprint")}
        key = json.dumps(values, sort_keys=True)
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
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise RunError(f"{out} is in use by another coevo bench; wait for it, or take another --out") from None
    finally:
        os.close(lock)
