"""`coevo env`: list the environments, start one of your own, check that it keeps the contract."""

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from coevo.authoring.env_listing import EnvironmentRow

env = typer.Typer(help="List environments, start one of your own, check it.", no_args_is_help=True)

_PIPE_WIDTH = 10_000
"""Columns that a table may use where no terminal shows it: one line per environment, for tools that read lines."""


@env.command("list")
def list_(
    json: Annotated[bool, typer.Option("--json", help="List as JSON on standard output.")] = False,
) -> None:
    """Show every environment that can be named: the bundled ones and those of installed packages."""
    from dataclasses import asdict

    from coevo.authoring.env_listing import list_environments

    rows = list_environments()
    if json:
        typer.echo(json_module.dumps([asdict(row) for row in rows]))
        return
    _print_table(rows)
    for row in rows:
        for need in row.missing:
            typer.echo(f"{row.name} cannot run here without {need.name}: {need.install}")


@env.command()
def new(
    name: Annotated[str, typer.Argument(help="Name of the environment and of its folder.")],
    to: Annotated[Path, typer.Option(help="Existing folder to put it into.")] = Path(),
) -> None:
    """Write a small environment that runs at once, to be replaced piece by piece."""
    import shlex

    from coevo.authoring.env_scaffold import new_environment

    folder = new_environment(name, to)
    path = shlex.quote(str(folder) if folder.is_absolute() or to != Path() else f"./{folder}")
    typer.echo(f"{folder} is a complete environment; make it yours and see after each step that it still holds:\n")
    typer.echo(f"  coevo env check {path}")
    typer.echo(f"  coevo tune --env {path}")


@env.command()
def check(
    environment: Annotated[str, typer.Argument(metavar="NAME|PATH", help="An environment, or the path of its folder.")],
    option: Annotated[list[str] | None, typer.Option(help="One of its options, as name=value; repeatable.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Findings as JSON on standard output.")] = False,
) -> None:
    """Check that an environment folder keeps its contract: one line per check, exit code 1 if one fails."""
    from dataclasses import asdict

    from coevo.authoring.env_contract import check_environment
    from coevo.environments.loading import find_environment, read_options

    folder = find_environment(environment)
    results = []
    for result in check_environment(folder, read_options(folder.spec, _named(option or []))):
        results.append(result)
        if not json:
            typer.echo(f"{result.status:8}{result.check:12} {result.text}")
    num_failed = sum(result.status == "failed" for result in results)
    if json:
        answer = {"environment": folder.spec.name, "path": str(folder.path), "passed": not num_failed}
        typer.echo(json_module.dumps(answer | {"checks": [asdict(result) for result in results]}))
    else:
        checks = "check" if num_failed == 1 else "checks"
        kept = f"{num_failed} {checks} failed" if num_failed else f"{folder.spec.name} keeps the contract"
        typer.echo(f"{kept} ({folder.path})")
    if num_failed:
        raise typer.Exit(1)


def _named(given: list[str]) -> dict[str, str]:
    from coevo.errors import ConfigError

    pairs = [text.partition("=") for text in given]
    if bad := [name for name, equals, _ in pairs if not equals]:
        raise ConfigError(f"expected --option name=value, got {bad[0]!r}")
    return {name: value for name, _, value in pairs}


def _print_table(rows: "list[EnvironmentRow]") -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from coevo.cli.summary import console

    out = console()
    table = Table(box=box.SIMPLE)
    for title in ("environment", "title", "origin", "splits", "options", "missing here"):
        table.add_column(title, no_wrap=title == "environment")
    for row in rows:
        options = ", ".join(f"{option.name}={option.default}" for option in row.options)
        missing = ", ".join(need.name for need in row.missing)
        cells = (row.name, row.title, row.origin, ", ".join(row.splits), options or "–", missing or "–")
        table.add_row(*(escape(cell) for cell in cells))
    if not out.is_terminal:
        out.width = _PIPE_WIDTH
    out.print(table)
