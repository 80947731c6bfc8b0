"""Whether a grid's tables say what its cells say, and its cells what their runs' events say.

Two steps. The tables are computed anew from `cells.csv` and compared line by line: this works wherever the five files
are, also where the run directories are not. Every cell whose run is there is computed anew from the run's events, and
the run's configuration is held against what the grid asks for in that cell.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from coevo.errors import RunError, escaped
from coevo.experiments.bench import CELLS, GRID, PAGE, PROVENANCE, TABLE, environments, row_of
from coevo.experiments.cell_folder import CellFolder
from coevo.experiments.cells import Layout, lay_out
from coevo.experiments.grid import read_grid
from coevo.experiments.results import compare
from coevo.experiments.rows import Key, Row, differences, read_rows, to_csv
from coevo.experiments.tables import Provenance, page, table_csv
from coevo.explaining import explain
from coevo.searching.api import config_of


@dataclass(frozen=True, slots=True)
class Verification:
    """What a check found.

    Attributes:
        differences: One line per number that is not what it follows from; empty if all is well.
        cells: Finished cells in `cells.csv`.
        traced: Those of them that were computed anew from their run's events.
    """

    differences: tuple[str, ...]
    cells: int
    traced: int


def verify(out: Path) -> Verification:
    """Compute a grid's tables anew from its cells, and its cells from their runs where these are there.

    Args:
        out: A folder with `grid.toml`, `cells.csv`, `provenance.json`, `table.csv`, `table.md`, and perhaps `cells/`.

    Raises:
        CoevoError: If one of the files is missing or cannot be read.
    """
    provenance = read_provenance(out / PROVENANCE)
    layout = lay_out(read_grid(out / GRID, model=provenance.model))
    rows = read_rows(out / CELLS)
    traced = dict(_traced(out, layout))
    finished = [row for row in rows if row.state == "done"]
    count = sum(row.key in traced and traced[row.key].state == "done" for row in finished)
    lines = [*_strangers(layout, rows), *_other_searches(out, layout), *differences(rows, traced)]
    if finished and count == len(finished) and environments(out, finished) != provenance.environments:
        lines.append(f"{PROVENANCE}: the environments are not those of the runs")
    known = {row.key for row in rows}
    lines += [f"{row.cell}: {row.state}, but not in {CELLS}" for key, row in traced.items() if key not in known]
    return Verification((*lines, *_tables(out, layout, rows, provenance)), len(finished), count)


def _tables(out: Path, layout: Layout, rows: list[Row], provenance: Provenance) -> Iterator[str]:
    """Lines of the tables that do not follow from the rows."""
    cells = {cell.name for cell in layout.cells}
    own = [row for row in rows if row.cell in cells]
    results = compare(layout, own)
    anew = {CELLS: to_csv(rows), TABLE: table_csv(results), PAGE: page(layout, own, results, provenance)}
    for name, text in anew.items():
        yield from _against(out / name, text)


def read_provenance(path: Path) -> Provenance:
    """Where a grid's numbers come from.

    Raises:
        RunError: If the file is missing or of another form.
    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        version = values.pop("schema_version", None)
        if type(version) is not int or version != 1:  # to Python, true and 1.0 equal 1
            raise RunError(f"{path}: expected schema_version 1, got {version}; use the coevo that wrote it")
        return Provenance.model_validate(values)
    except OSError as error:
        raise RunError(f"expected a finished grid with {path}, got: {error.strerror}; run coevo bench first") from error
    except ValidationError as error:
        raise RunError(f"{path}: {explain(error)}") from error
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise RunError(f"{path} is not a JSON object: {error}") from error


def _traced(out: Path, layout: Layout) -> Iterator[tuple[Key, Row]]:
    """The cells that are on disk, in numbers, by key."""
    for cell in layout.cells:
        if CellFolder(out, cell).run() is not None and (row := row_of(out, cell)) is not None:
            yield row.key, row


def _other_searches(out: Path, layout: Layout) -> Iterator[str]:
    """Runs that are not the search that the grid asks for in their cell, at whatever budget a raised one has."""
    for cell in layout.cells:
        folder = CellFolder(out, cell)
        try:
            if (run := folder.run()) is not None:
                budget = config_of(run).budget if cell.matches else cell.budget  # a stale one is said to be stale
                folder.check_config(cell.raised(budget - cell.budget).config)
        except RunError as error:
            yield escaped(str(error))


def _strangers(layout: Layout, rows: list[Row]) -> Iterator[str]:
    """Rows that are no cell of the grid, and rows that are there twice."""
    cells = {cell.name for cell in layout.cells}
    seen: set[str] = set()
    for row in rows:
        if row.cell not in cells:
            yield f"{CELLS}: {row.cell} is no cell of {GRID}"
        if row.cell in seen:
            yield f"{CELLS}: {row.cell} is there twice"
        seen.add(row.cell)


def _against(path: Path, anew: str) -> Iterator[str]:
    """The lines of a file that are not what they should be."""
    try:
        said = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise RunError(f"expected {path}, got: {error.strerror}; run coevo bench first") from error
    except UnicodeDecodeError as error:
        raise RunError(f"expected UTF-8 text in {path}, got {error.reason} at byte {error.start}") from error
    found = anew.splitlines()
    for number in range(max(len(said), len(found))):
        left, right = (lines[number] if number < len(lines) else "(nothing)" for lines in (said, found))
        if left != right:
            yield f"{path.name}, line {number + 1}: says {left!r}, the cells say {right!r}"
