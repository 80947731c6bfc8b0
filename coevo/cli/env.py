"""`coevo env`: list the environments, start one of your own, check that it keeps the contract."""

import json as json_module
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from coevo.authoring.env_listing import EnvironmentRow

env = typer.Typer(help="List environments, start one of your own, check it.", no_args_is_help=True)


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
    _print_tables(rows)
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
    from coevo.learning.suiting import SCRIPT

    folder = new_environment(name, to)
    path = shlex.quote(str(folder) if folder.is_absolute() or to != Path() else f"./{folder}")
    typer.echo(f"{folder} is a complete environment; make it yours and see after each step that it still holds:\n")
    typer.echo(f"  coevo env check {path}")
    typer.echo(f"  coevo tune --env {path} --model MODEL")
    typer.echo("\nMODEL is a Hugging Face folder or a downloaded name, got by: hf download Qwen/Qwen3-0.6B; for a try")
    typer.echo("without one: --engine scripted --model answers.json, " + SCRIPT)


@env.command()
def check(
    environment: Annotated[str, typer.Argument(metavar="NAME|PATH", help="An environment, or the path of its folder.")],
    option: Annotated[list[str] | None, typer.Option(help="One of its options, as name=value; repeatable.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Findings as JSON on standard output.")] = False,
) -> None:
    """Check that an environment folder keeps its contract: one line per check, exit code 1 if one fails."""
    from dataclasses import asdict

    from coevo.authoring.env_contract import check_environment
    from coevo.cli.attending import attended
    from coevo.cli.given import options_of
    from coevo.environments.loading import find_environment, read_options

    folder = find_environment(environment)
    results = []
    options = read_options(folder.spec, options_of(option))
    for result in attended(lambda begin: check_environment(folder, options, begin), in_lines=True):
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


def _print_tables(rows: "list[EnvironmentRow]") -> None:
    """The environments, then what `--option` sets in each."""
    _print_table("", ("environment", "title", "origin", "splits", "missing here"), [
        (row.name, row.title, row.origin, ", ".join(row.splits), ", ".join(need.name for need in row.missing) or "–")
        for row in rows
    ])  # fmt: skip
    heads = ("environment", "option", "what it is  [unless given]")
    _print_table("options, as --option name=value", heads, [
        ("" if place else row.name, option.name, f"{option.description}  [{option.default}]")
        for row in rows for place, option in enumerate(row.options)
    ])  # fmt: skip


def _print_table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from coevo.cli.summary import table_console

    table = Table(title=title or None, title_justify="left", box=box.SIMPLE, pad_edge=False)
    for head in heads:
        table.add_column(head, no_wrap=head in ("environment", "option"), overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    table_console().print(table)
