"""`coevo bench`: a grid of searches, and the table that compares its arms."""

import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coevo.cli.apart import prints_apart
from coevo.cli.options import Json
from coevo.errors import escaped

if TYPE_CHECKING:
    from coevo.experiments.bench import Request
    from coevo.experiments.cells import Cell
    from coevo.experiments.rows import Row
    from coevo.experiments.running import Progress as News
    from coevo.experiments.running import Report


def bench(
    grid: Annotated[str, typer.Argument(help="A grid file, or the name of a bundled grid.")],
    out: Annotated[Path | None, typer.Option(help="Where cells and tables are written.  [runs/NAME]")] = None,
    model: Annotated[str | None, typer.Option(help="Model of the arms that name none of their own.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Cells at a time.  [one per core]", min=1)] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Run only these cells: problem/budget/arm/seed with * and ?; repeatable.")
    ] = None,
    rerun: Annotated[list[str] | None, typer.Option(help="Run these cells anew; repeatable.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Compute the tables anew and compare; run nothing.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the cells; run nothing.")] = False,
    json: Json = False,
) -> None:
    """Run a grid of searches, or what is left of it, and write the table that compares its arms."""
    from coevo.experiments.bench import Request
    from coevo.experiments.bench import bench as run
    from coevo.experiments.grid import find_grid

    file = find_grid(grid)
    folder = out or Path("runs") / file.stem
    if check:
        _check(folder, as_json=json)
        return
    request = Request(
        file=file,
        out=folder,
        model=model,
        jobs=jobs or len(os.sched_getaffinity(0)),
        only=tuple(only or ()),
        rerun=tuple(rerun or ()),
        command=_command(grid, out, model),
    )
    if dry_run:
        _list(request, as_json=json)
        return
    try:
        with _stopped_by_termination(), prints_apart(), _following() as begin:
            rows = run(request, begin)
    except KeyboardInterrupt:
        typer.echo("coevo: interrupted; the same command goes on with the grid", err=True)
        raise typer.Exit(130) from None
    _conclude(request, rows, as_json=json)


def _command(grid: str, out: Path | None, model: str | None) -> str:
    """The command with what decides the numbers, as the page states it; cells at a time may differ between calls."""
    flags = {"--out": out, "--model": model}
    given = [part for name, value in flags.items() if value is not None for part in (name, str(value))]
    return shlex.join(["coevo", "bench", grid, *given])


def _list(request: "Request", *, as_json: bool) -> None:
    import json

    from coevo.experiments.bench import state_of
    from coevo.experiments.cell_folder import select
    from coevo.experiments.cells import lay_out
    from coevo.experiments.grid import read_grid

    cells = select(lay_out(read_grid(request.file, model=request.model)).cells, request.only, "--only")
    states = {cell.name: state_of(request.out, cell) for cell in cells}
    total = sum(cell.config.budget for cell in cells)
    if as_json:
        typer.echo(json.dumps({"out": str(request.out), "completions": total, "cells": states}))
        return
    for name, state in states.items():
        typer.echo(f"{name}  {state}")
    more = " or more, to make totals equal" if any(cell.matches for cell in cells) else ""
    typer.echo(f"{len(cells)} cells, {total} operator completions{more}; out: {request.out}")


def _check(out: Path, *, as_json: bool) -> None:
    import json

    from coevo.experiments.checking import verify

    found = verify(out)
    if as_json:
        typer.echo(json.dumps({"out": str(out), **asdict(found)}))
    else:
        for line in found.differences:
            typer.echo(escaped(line))
        whole = "every number follows" if not found.differences else f"{len(found.differences)} differences"
        typer.echo(f"{out}: {whole}; {found.traced} of {found.cells} finished cells traced to their events")
    if found.differences:
        raise typer.Exit(1)


def _conclude(request: "Request", rows: "Sequence[Row]", *, as_json: bool) -> None:
    """Say what came of it; exits with 1 if a cell failed."""
    import json

    from coevo.experiments.bench import PAGE

    failed = [row for row in rows if row.state == "failed"]
    if as_json:
        cells = [{"cell": row.cell, **asdict(row)} for row in rows]
        typer.echo(json.dumps({"out": str(request.out), "table": str(request.out / PAGE), "cells": cells}))
    else:
        done, capped = (sum(row.state == state for row in rows) for state in ("done", "capped"))
        at_cap = f", {capped} at a cap" if capped else ""
        typer.echo(f"{done} of {len(rows)} cells done{at_cap}; table: {request.out / PAGE}")
    for row in failed:
        typer.echo(f"coevo: cell {row.cell} failed: {escaped(row.detail)}", err=True)
    if failed:
        raise typer.Exit(1)


@contextmanager
def _stopped_by_termination() -> Iterator[None]:
    """Let SIGTERM stop the block as Ctrl-C does, so that cells close their runs; only the main thread can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _following() -> "Iterator[Callable[[Sequence[Cell]], Report]]":
    """Show progress on standard error while the block runs: a bar in a terminal, otherwise a line per cell."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(file=sys.stderr)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars:

        def begin(cells: "Sequence[Cell]") -> "Report":
            whole = bars.add_task("cells", total=len(cells))
            running = {}

            def report(news: "News") -> None:
                name = news.cell.name
                if news.state == "running":
                    if name not in running:
                        running[name] = bars.add_task(name, total=news.cell.config.budget)
                    bars.update(running[name], completed=news.asked)
                    return
                if name in running:
                    bars.remove_task(running.pop(name))
                bars.advance(whole)
                detail = escaped(news.detail)
                console.print(f"{name}  {news.state}  {detail}".rstrip(), markup=False, soft_wrap=True)

            return report

        yield begin
