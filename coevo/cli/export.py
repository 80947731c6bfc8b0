"""`coevo export`: a run's weights as a Hugging Face folder."""

from pathlib import Path
from typing import Annotated

import typer

from coevo.cli.options import Json, RunArgument, StartModel, WeightsAfter


def export(
    run: RunArgument,
    to: Annotated[Path, typer.Option(help="Folder to write; new or empty.")],
    model: StartModel = None,
    generation: WeightsAfter = None,
    json: Json = False,
) -> None:
    """Write a run's weights as a Hugging Face folder, rebuilt from its history and read back."""
    import json as json_module

    from coevo.cli.replay import as_values, lines
    from coevo.experiments.any_run import generation_named, load_any
    from coevo.searching.exporting import export_run

    done = export_run(run, to, model=model, load=load_any, until=generation_named(run, generation))
    if json:
        answer = as_values(done.replay) | {"folder": done.folder, "sha256": done.sha256}
        typer.echo(json_module.dumps(answer))
    else:
        typer.echo("\n".join(lines(done.replay)))
        for name, digest in done.sha256.items():
            typer.echo(f"sha256 of {name}: {digest}")
        typer.echo("nothing written" if done.folder is None else f"written, and read back: {done.folder}")
    if done.folder is None:
        raise typer.Exit(1)
