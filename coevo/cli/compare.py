"""`coevo compare`: runs side by side in the terminal."""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coevo.cli.options import Json

_WIDEST = 24
"""Columns beyond which a cell or a name is folded."""

if TYPE_CHECKING:
    from rich.table import Table

    from coevo.experiments.comparing import RunsSideBySide
    from coevo.experiments.run_summary import RunSummary


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Run directories of searches, finished or not.")],
    page: Annotated[Path | None, typer.Option(help="Write a page with their curves here as well.")] = None,
    json: Json = False,
) -> None:
    """Compare searches: results, costs, operators, and the settings that differ."""
    import json as codec

    from coevo.cli.apart import prints_apart
    from coevo.cli.summary import console
    from coevo.experiments.comparing import side_by_side

    if page is not None:
        from coevo.reporting.writing import check_place, write_comparison

        check_place(page)
    found = side_by_side(runs)
    if page is not None:
        with prints_apart():
            write_comparison(runs, page)
    if json:
        typer.echo(codec.dumps({"runs": [_as_json(run) for run in found.runs], "configs": dict(found.configs)}))
        return
    for number, run in enumerate(found.runs, 1):
        console().print(f"{number}: {run.run}", markup=False, soft_wrap=True)
    for title, rows in (("result", _results(found)), ("operators", _operators(found)), ("settings", _settings(found))):
        for table in _tables(title, rows, console().width):
            console().print(table)


def _as_json(run: "RunSummary") -> dict[str, Any]:
    splits = {name: value.model_dump() for name, value in run.splits.items()}
    operators = {name: asdict(value) for name, value in run.operators.items()}
    names = [name for name in run.__slots__ if name not in ("run", "splits", "operators")]
    plain = {name: getattr(run, name) for name in names}
    return {"run": str(run.run), **plain, "splits": splits, "operators": operators}


Lines = dict[str, list[str]]


def _results(found: "RunsSideBySide") -> Lines:
    rows: Lines = {
        "status": [run.status for run in found.runs],
        "best on search": _each(found, lambda run: _number(run.best)),
    }
    for split in found.splits:
        rows[split] = [_split(run, split) for run in found.runs]
    return rows | {
        "completions": _each(found, lambda run: f"{run.operator} of {run.planned}"),
        "on top": _each(found, lambda run: str(run.on_top)),
        "skill": _each(found, lambda run: str(run.skill)),
        "tokens": _each(found, lambda run: f"{run.tokens:,}"),
        "wall time, no pauses": _each(found, lambda run: f"{run.wall_s:.1f} s"),
        "evaluator, search": _each(found, lambda run: f"{run.evaluator_search_s:.1f} s"),
        "evaluator, all": _each(found, lambda run: f"{run.evaluator_s:.1f} s"),
        "fingerprint": _each(found, lambda run: run.fingerprint),
    }


def _operators(found: "RunsSideBySide") -> Lines:
    rows: Lines = {}
    for name in found.operators:
        own = [run.operators.get(name) for run in found.runs]
        rows[f"{name}: valid"] = ["–" if each is None else _share(each.valid, each.children) for each in own]
        rows[f"{name}: reward"] = [_number(None if each is None else each.reward) for each in own]
    return rows


def _settings(found: "RunsSideBySide") -> Lines:
    return {name: ["–" if value is None else str(value) for value in row] for name, row in found.configs.items()}


def _each(found: "RunsSideBySide", cell: "Callable[[RunSummary], str]") -> list[str]:
    return [cell(run) for run in found.runs]


def _split(run: "RunSummary", split: str) -> str:
    from coevo.cli.summary import percent

    value = run.splits.get(split)
    if value is None or value.objective is None:
        return "–"
    return f"{value.objective:.6g}\n{percent(value.gap)}"


def _share(valid: int, children: int) -> str:
    from coevo.cli.summary import percent

    return f"{percent(valid / children)} of {children}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.6g}"


def _tables(title: str, rows: Lines, width: int) -> "Iterator[Table]":
    """As many tables as it takes for their columns to fit, at least two runs in each."""
    cells = [line for row in rows.values() for cell in row for line in cell.split("\n")]
    widest = min(max(map(len, cells), default=1), _WIDEST)
    count = max(map(len, rows.values()), default=0)
    fitting = max(2, (width - min(max(map(len, rows), default=0), _WIDEST) - 4) // (widest + 2))
    for first in range(0, count, fitting):
        numbers = range(first, min(first + fitting, count))
        yield _table(title, {name: [row[n] for n in numbers] for name, row in rows.items()}, numbers)


def _table(title: str, rows: Lines, numbers: range) -> "Table":
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from coevo.cli.summary import printable

    table = Table(title=title, title_justify="left", box=box.SIMPLE)
    table.add_column("", max_width=_WIDEST, overflow="fold")
    for number in numbers:
        table.add_column(str(number + 1), justify="right", max_width=_WIDEST, overflow="fold")
    for name, cells in rows.items():
        table.add_row(escape(name), *(escape(printable(cell)) for cell in cells))
    return table
