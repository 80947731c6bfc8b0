"""`coevo report`: a search, a probe, a tuning run or a grid as one page."""

from pathlib import Path
from typing import Annotated

import typer

from coevo.cli.options import Json


def report(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="RUN|GRID",
            help="The directory of a search, a probe or a tuning run, finished or not, or the folder of a grid.",
        ),
    ],
    to: Annotated[Path | None, typer.Option(help="File to write.  [report.html in the directory]")] = None,
    draw: Annotated[
        bool | None,
        typer.Option(
            "--draw/--no-draw",
            help="Solve one instance again, in the sandbox, and draw it; the problem's own code runs outside it.  "
            "[draw where the problem is installed; with a folder that the run names, only if asked for]",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Write a page on a run of any kind or a grid: one HTML file that needs no network and runs no script."""
    import json as json_module

    from coevo.cli.apart import prints_apart
    from coevo.reporting.writing import write_page

    with prints_apart():
        page = write_page(folder, to, draw=draw)
    typer.echo(json_module.dumps({"page": str(page)}) if json else f"page: {page}")
