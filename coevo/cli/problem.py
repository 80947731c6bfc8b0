"""`coevo problem`: list the problems, start one of your own, check that it keeps the contract."""

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from coevo.authoring.listing import Row, SolverRow

problem = typer.Typer(help="List problems, start one of your own, check it.", no_args_is_help=True)


@problem.command("list")
def list_(
    json: Annotated[bool, typer.Option("--json", help="List as JSON on standard output.")] = False,
) -> None:
    """Show every problem that can be named: the bundled ones and those of installed packages."""
    from dataclasses import asdict

    from coevo.authoring.listing import list_problems

    rows, faults = list_problems()
    for fault in faults:
        typer.echo(f"left out: {fault}", err=True)
    if json:
        typer.echo(json_module.dumps([asdict(row) for row in rows]))
    else:
        _print_table(rows)


@problem.command()
def new(
    name: Annotated[str, typer.Argument(help="Name of the problem and of its folder.")],
    to: Annotated[Path, typer.Option(help="Existing folder to put it into.")] = Path(),
) -> None:
    """Write a small problem that runs at once, to be replaced piece by piece."""
    import shlex

    from coevo.authoring.scaffold import TEMPLATE, new_problem

    folder = new_problem(name, to)
    path = shlex.quote(str(folder) if folder.is_absolute() or to != Path() else f"./{folder}")
    baseline = min((TEMPLATE / "baselines").glob("*.py")).name
    typer.echo(f"{folder} is a complete problem; make it yours and see after each step that it still holds:\n")
    typer.echo(f"  coevo problem check {path}")
    typer.echo(f"  coevo search --problem {path} --budget 100")
    typer.echo(f"  coevo evaluate {path}/baselines/{baseline} --problem {path}")


@problem.command()
def check(
    problem: Annotated[str, typer.Argument(help="Name of a problem, or path of its folder.")],
    model: Annotated[bool, typer.Option("--model/--no-model", help="Let the embedded model write for it.")] = True,
    unsafe_no_sandbox: Annotated[bool, typer.Option("--unsafe-no-sandbox", help="Run without bubblewrap.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Findings as JSON on standard output.")] = False,
) -> None:
    """Check that a problem folder keeps its contract: one line per check, exit code 1 if one fails."""
    from dataclasses import asdict
    from functools import partial

    from coevo.authoring.contract import check_problem
    from coevo.cli.attending import attended
    from coevo.content import find_problem

    folder = find_problem(problem)
    results = []
    checking = partial(check_problem, folder, with_model=model, unsafe=unsafe_no_sandbox)
    for result in attended(checking, in_lines=True):
        results.append(result)
        if not json:
            typer.echo(f"{result.status:8}{result.check:15} {result.text}")
    num_failed = sum(result.status == "failed" for result in results)
    if json:
        answer = {"problem": folder.spec.name, "path": str(folder.path), "passed": not num_failed}
        typer.echo(json_module.dumps(answer | {"checks": [asdict(result) for result in results]}))
    else:
        checks = "check" if num_failed == 1 else "checks"
        kept = f"{num_failed} {checks} failed" if num_failed else f"{folder.spec.name} keeps the contract"
        typer.echo(f"{kept} ({folder.path})")
    if num_failed:
        raise typer.Exit(1)


def _print_table(rows: "list[Row]") -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from coevo.cli.summary import table_console

    table = Table(box=box.SIMPLE, leading=1, pad_edge=False)
    for title in ("problem", "origin", "sense", "heuristic", "splits", "reads", "solvers"):
        table.add_column(title, no_wrap=title in ("problem", "sense"), overflow="fold")
    for row in rows:
        solvers = "; ".join(map(_solver, row.solvers))
        cells = (row.name, row.origin, row.sense, row.heuristic, ", ".join(row.splits), row.reads or "–", solvers)
        table.add_row(*(escape(cell) for cell in cells))
    table_console().print(table)


def _solver(solver: "SolverRow") -> str:
    state = {True: "installed", False: f"not installed: coevo[{solver.extra}]", None: f"coevo[{solver.extra}]"}
    return f"{solver.name} ({solver.licence}, {state[solver.is_installed]})"
