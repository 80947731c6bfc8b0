"""`coevo doctor`: will a run work here? Answered before hours are spent."""

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coevo.experiments.doctor.asked import Asked
    from coevo.experiments.doctor.finding import Finding

_NAME_WIDTH = 13
_LEAST_WIDTH = 60


def doctor(
    problem: Annotated[str | None, typer.Option(help="Name of a problem, or path of its folder.  [tsp]")] = None,
    env: Annotated[str | None, typer.Option(help="Name of an environment, or path of its folder: tuning.")] = None,
    model: Annotated[
        str | None, typer.Option(help="The model: as for search and tune.  [the one that ships with coevo]")
    ] = None,
    engine: Annotated[str | None, typer.Option(help="auto, torch, vllm, endpoint or scripted.")] = None,
    budget: Annotated[int | None, typer.Option(help="Completions of the search that is meant.  [200]")] = None,
    members: Annotated[int | None, typer.Option(help="Perturbed models in a step.")] = None,
    runs_dir: Annotated[Path, typer.Option(help="Where run directories would be made.")] = Path("runs"),
    json: Annotated[bool, typer.Option("--json", help="Findings as JSON on standard output.")] = False,
) -> None:
    """Check that a run would work here: one line per check, exit code 1 if one fails."""
    from dataclasses import asdict

    from coevo.experiments.doctor.asked import Wish, resolve

    wish = Wish(
        problem=problem, env=env, model=model, engine=engine, budget=budget, members=members, runs_dir=str(runs_dir)
    )
    asked = resolve(wish)
    findings = []
    for finding in _examined(asked):
        findings.append(finding)
        if not json:
            _print(finding)
    failures = sum(finding.state == "fail" for finding in findings)
    if json:
        answer = {"passed": not failures, "asked": asked.summary(), "checks": [asdict(each) for each in findings]}
        typer.echo(json_module.dumps(answer))
    else:
        counts = (f"{sum(each.state == state for each in findings)} {state}" for state in ("pass", "warn", "fail"))
        typer.echo(", ".join(counts))
    if failures:
        raise typer.Exit(1)


def _examined(asked: "Asked") -> "Iterator[Finding]":
    """The findings; a command that is terminated, too, leaves nothing behind."""
    import signal
    import sys

    from coevo.cli.attending import attended
    from coevo.experiments.doctor.examining import examine

    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield from attended(lambda begin: examine(asked, begin), in_lines=False)
    finally:
        signal.signal(signal.SIGTERM, before)


def _print(finding: "Finding") -> None:
    from coevo.errors import escaped

    indent = " " * (6 + _NAME_WIDTH)
    head = f"{finding.state:<6}{finding.name:<{_NAME_WIDTH}}"
    for line in _wrapped(head, escaped(finding.found), indent):
        typer.echo(line)
    if finding.advice:
        for line in _wrapped(f"{indent}-> ", escaped(finding.advice), f"{indent}   "):
            typer.echo(line)


def _wrapped(head: str, text: str, indent: str) -> list[str]:
    """Text after a head, in lines that fit a terminal; one line where none shows it, for tools that read lines."""
    import sys
    import textwrap
    from shutil import get_terminal_size

    if not sys.stdout.isatty():
        return [head + text]
    width = max(_LEAST_WIDTH, get_terminal_size().columns)
    return textwrap.wrap(text, width, initial_indent=head, subsequent_indent=indent, break_on_hyphens=False)
