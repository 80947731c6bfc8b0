"""`coevo evaluate`: a heuristic file on a split of a problem, or on instance files."""

import json as json_module
from pathlib import Path
from typing import Annotated, Any

import typer

from coevo.cli.options import Json

_SHOWN = 20
"""Instances in the table; the rest is in --json."""


def evaluate(
    file: Annotated[Path, typer.Argument(help="Python file that defines the problem's heuristic.")],
    problem: Annotated[str, typer.Option(help="Name of a problem, or path of its folder.")],
    split: Annotated[str | None, typer.Option(help="Which instances.  [search]")] = None,
    instances: Annotated[
        list[Path] | None, typer.Option(help="Your own instance file instead of a split; repeatable.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="What a file leaves unsaid, as name=value; repeatable.")
    ] = None,
    solver: Annotated[str | None, typer.Option(help="Reference solver to measure the gap against.")] = None,
    seeds: Annotated[int, typer.Option(help="Fresh seeds to average a random objective over.")] = 0,
    draw: Annotated[Path | None, typer.Option(help="Draw one solution into this .svg or .png file.")] = None,
    instance: Annotated[str | None, typer.Option(help="Which instance to draw.  [the first]")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes.  [one per core]")] = None,
    unsafe_no_sandbox: Annotated[bool, typer.Option("--unsafe-no-sandbox", help="Run without bubblewrap.")] = False,
    json: Json = False,
) -> None:
    """Measure a heuristic: every instance, mean objective, gap to the best known, time."""
    from coevo.cli.apart import prints_apart
    from coevo.cli.given import options_of
    from coevo.searching.evaluate import evaluate_file

    with prints_apart():
        report = evaluate_file(
            file,
            problem,
            split,
            files=tuple(instances or ()),
            options=options_of(option),
            solver=solver,
            seeds=seeds,
            draw=draw,
            instance=instance,
            workers=workers,
            unsafe=unsafe_no_sandbox,
        )
    if json:
        typer.echo(json_module.dumps(report, allow_nan=False))
    else:
        _print(report, draw, reference=solver or "best known")
    if report["status"] != "ok":
        raise typer.Exit(1)


def _print(report: dict[str, Any], drawing: Path | None, *, reference: str) -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from coevo.cli.summary import console, percent

    out = console()
    rows = report["instances"]
    table = Table(box=box.SIMPLE)
    table.add_column("instance", overflow="fold")
    for name in ("objective", reference, "gap", "CPU s"):
        table.add_column(name, justify="right")
    for row in rows[:_SHOWN]:
        objective = row["status"] if row["objective"] is None else f"{row['objective']:.10g}"
        known = "–" if row["reference"] is None else f"{row['reference']:.10g}"
        table.add_row(escape(row["name"]), objective, known, percent(row["gap"]), f"{row['cpu_s']:.4f}")
    if any(row["status"] == "ok" for row in rows):  # what fails on all of them is said once
        out.print(table)
        if len(rows) > _SHOWN:
            out.print(f"… and {len(rows) - _SHOWN} more; --json has them all", markup=False)
    for detail in dict.fromkeys(f"{row['status']}: {row['detail']}" for row in rows if row["status"] != "ok"):
        out.print(detail, markup=False, soft_wrap=True)
    if report["status"] == "ok":
        out.print(_last_line(report, percent(report["gap"])), markup=False, soft_wrap=True)
    if drawing is not None:
        done = f"drawn: {drawing}" if report["status"] == "ok" else "nothing drawn: there is no feasible solution"
        out.print(done, markup=False, soft_wrap=True)


def _last_line(report: dict[str, Any], gap: str) -> str:
    where = f"{report['problem']} {report['split']}" if report["split"] else report["problem"]
    spread = "" if report["spread"] is None else f" ± {report['spread']:.4g}"
    count = len(report["instances"])
    return (
        f"{where}: mean objective {report['objective']:.9g}{spread} over {count} instance{'s' * (count != 1)}, "
        f"gap {gap}, CPU {report['cpu_s']:.2f} s, clock {report['wall_s']:.2f} s"
    )
