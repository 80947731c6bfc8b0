"""`coevo evaluate`: a heuristic file on a split of a problem."""

import json as json_module
from pathlib import Path
from typing import Annotated

import typer


def evaluate(
    file: Annotated[Path, typer.Argument(help="Python file that defines the problem's heuristic.")],
    problem: Annotated[str, typer.Option(help="Name of a problem, or path of its folder.")],
    split: Annotated[str, typer.Option(help="Which instances.")] = "search",
    workers: Annotated[int | None, typer.Option(help="Processes.  [one per core]")] = None,
    unsafe_no_sandbox: Annotated[bool, typer.Option("--unsafe-no-sandbox", help="Run without bubblewrap.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Result as JSON on standard output.")] = False,
) -> None:
    """Measure a heuristic: mean objective, gap to the best known, and every instance with --json."""
    from coevo.cli.summary import console, percent
    from coevo.searching.evaluate import evaluate_file

    report = evaluate_file(file, problem, split, workers=workers, unsafe=unsafe_no_sandbox)
    if json:
        typer.echo(json_module.dumps(report, allow_nan=False))
    elif report["status"] == "ok":
        console().print(
            f"{report['problem']} {report['split']}: mean objective {report['objective']:.6g} over "
            f"{len(report['instances'])} instances, gap {percent(report['gap'])}, {report['wall_s']:.2f} s"
        )
    else:
        console().print(f"{report['status']}: {report['detail']}", markup=False)
    if report["status"] != "ok":
        raise typer.Exit(1)
