"""`coevo view`: running and finished runs, followed in a browser of this machine."""

from pathlib import Path
from typing import Annotated

import typer

RUNS = Path("runs")


def view(
    places: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[DIR]...", help="Folders of runs, grids or run directories.  [runs]", show_default=False
        ),
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port of 127.0.0.1.  [8642 or the next free one; 0: any]")
    ] = None,
    open_: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in this machine's browser, where it has a screen.")
    ] = True,
) -> None:
    """Follow runs in the browser: curves, lineage, failures and throughput as they come; for this machine only."""
    from coevo.errors import ConfigError
    from coevo.reporting.live.library import Library
    from coevo.reporting.live.server import open_server

    for place in places or ():
        if not place.is_dir():
            raise ConfigError(f"expected a folder of runs or a run directory, got {place}; name one that is there")
    with open_server(Library(places or [RUNS]), port) as server:
        typer.echo(f"view: {server.address}  (Ctrl-C ends it)")
        if open_ and _has_screen():
            _open(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            typer.echo("", err=True)


def _has_screen() -> bool:
    """Whether a browser that is opened would be seen; elsewhere it might take over the terminal."""
    import os
    import sys

    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _open(address: str) -> None:
    import webbrowser

    if not webbrowser.open(address):
        typer.echo("coevo: no browser to open; open the address by hand", err=True)
