"""What a search prints when it is done, and what a dry run shows."""

import json
import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from coevo.cli.apart import prints_apart
from coevo.learning.paying import CAP_STATUSES, Paid
from coevo.searching.config import SearchConfig
from coevo.searching.result import BudgetUse, SearchResult, SplitResult

_ENDINGS = {"cost": "stopped at the cap on cost", "tokens": "stopped at the cap on tokens"}
"""What a status means that would read as a heading."""

FILE_WIDTH = 100
"""Columns that a table may use where no terminal shows it and the user says nothing."""


def console() -> Console:
    """Standard output, as rich writes it."""
    return Console(file=sys.stdout)


def table_console() -> Console:
    """Standard output for tables that wrap: as wide as the terminal or `COLUMNS` says, else `FILE_WIDTH`."""
    out = console()
    if not (out.is_terminal or os.environ.get("COLUMNS", "").isdigit()):
        out.width = FILE_WIDTH
    return out


def present(values: dict[str, Any]) -> dict[str, Any]:
    """The flags that were given."""
    return {key: value for key, value in values.items() if value is not None}


def percent(fraction: float | None) -> str:
    """A fraction in per cent, or a dash."""
    # Adding zero turns the negative zero that rounding can leave into the positive one.
    return "–" if fraction is None else f"{round(100 * fraction, 2) + 0:.2f} %"


def printable(text: str) -> str:
    """Model text without control characters, so that it cannot steer the terminal."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", lambda match: f"\\x{ord(match[0]):02x}", text)


def print_result(result: SearchResult, *, as_json: bool) -> None:
    """Print a result; exits with 1 if the search found nothing valid."""
    if as_json:
        typer.echo(result.model_dump_json())
    elif result.best is None:
        console().print("No valid candidate. Most frequent failures:", markup=False)
        for failure in result.failures:
            console().print(f"  {failure}", markup=False, soft_wrap=True)
        _print_run(result)
    else:
        _print_best(result)
    if result.best is None:
        raise typer.Exit(1)


def _print_best(result: SearchResult) -> None:
    out = console()
    out.print(printable((Path(result.run) / "best.py").read_text()), markup=False, highlight=False, soft_wrap=True)
    splits = list(result.splits)
    is_random = any(value.spread is not None for value in result.splits.values())
    title = f"mean objective{', ± over fresh seeds' if is_random else ''}, gap to best known"
    table = Table(title=title, title_justify="left", box=box.SIMPLE)
    table.add_column("heuristic", overflow="fold", min_width=12)
    for split in splits:
        table.add_column(split, justify="right", no_wrap=True)
    for name, row in {_chosen(splits): result.splits, **result.comparisons}.items():
        table.add_row(escape(name.replace("_", " ")), *(_cell(row[split]) for split in splits))
    out.print(table)
    out.print(_progress(result), markup=False, soft_wrap=True)
    how = _ENDINGS.get(result.status, result.status)
    out.print(
        f"{how}: {_spent(result.budget)}, {result.wall_s:.0f} s{_weights(result)}",
        markup=False,
        soft_wrap=True,
    )
    _print_run(result)


def _chosen(splits: Sequence[str]) -> str:
    """What the heuristic handed over is called: another one may have been best on the split that the search saw."""
    return "best on val" if "val" in splits else "best"


def _weights(result: SearchResult) -> str:
    """What a model's weights came to; nothing where they are out of reach, behind a server, or there are none."""
    moved = f", moved by {result.moved} of {result.steps} steps" if result.steps else ""
    return f", model fingerprint {result.fingerprint}{moved}" if int(result.fingerprint, 16) else ""


def _print_run(result: SearchResult) -> None:
    """What servers were paid, where the run is, and how to go on from a cap."""
    lines = [paid_line(role, each) for role, each in result.paid.items()]
    lines += [*_without_lesson(Path(result.run)), f"run: {result.run}"]
    for line in (*lines, *filter(None, [onward(result.status, result.run)])):
        console().print(line, markup=False, soft_wrap=True)


def _without_lesson(run: Path) -> list[str]:
    """A line that says so where a skill was to be learned, and no lesson was."""
    skill = run / "SKILL.md"
    is_empty = skill.is_file() and skill.read_text().splitlines()[1:2] == ["Version 0"]
    return ["skill: no lesson was learned; the prompts were as without one"] if is_empty else []


def onward(status: str, run: str) -> str | None:
    """How to go on with a run that has ended at a cap; None for one that has not."""
    if status not in CAP_STATUSES:
        return None
    flag = "--max-cost" if status == "cost" else "--max-spent-tokens"
    return f"the next call might exceed the cap; go on with: coevo resume {shlex.quote(run)} {flag} MORE"


def paid_line(role: str, paid: Paid) -> str:
    """What one server was paid, on one line."""
    cost = "" if paid.cost is None else f", cost {paid.cost:.6g}"
    guessed = f" ({paid.guessed} of them not counted by the server: estimates)" if paid.guessed else ""
    tokens = f"{paid.tokens_in} tokens in, {paid.tokens_out} out"
    return f"{role.replace('_', ' ')}: {tokens}{cost}, in {paid.calls} calls{guessed}"


def _spent(budget: BudgetUse) -> str:
    """Every meter that is not 0, the plan beside its own."""
    meters = [f"{budget.operator} of {budget.planned} completions"]
    meters += [f"{budget.on_top} on top"] if budget.on_top else []
    meters += [f"{budget.skill} for the skill"] if budget.skill else []
    return ", ".join(meters)


def _progress(result: SearchResult) -> str:
    """How far the search came, in a sentence; on the split it sees."""
    if result.first is None or result.best is None:
        return ""
    if result.explanation:
        return (
            f"nothing better than the first candidate ({result.first.objective:.6g}): {printable(result.explanation)}"
        )
    seeds = ", under its own seeds" if any(value.spread is not None for value in result.splits.values()) else ""
    reached = f"from {result.first.objective:.6g}, the first candidate, to {result.best.objective:.6g} on search{seeds}"
    if result.lowest is None:
        return reached
    after = f"after {result.lowest_after} completions"
    is_lowest = result.lowest.candidate == result.best.candidate
    return f"{reached}, {after}" if is_lowest else f"{reached} (lowest: {result.lowest.objective:.6g}, {after})"


def _cell(value: SplitResult) -> str:
    if value.objective is None:
        return "failed"
    lines = [f"{value.objective:.6g}", percent(value.gap)]
    if value.spread is not None:
        lines.insert(1, f"±{value.spread:.2g}")
    return "\n".join(lines)


def print_dry_run(config: SearchConfig, *, as_json: bool) -> None:
    """Show what a search would do: its plan and the prompt of each operator, with the baselines as parents."""
    from coevo.searching.preview import preview

    with prints_apart():
        shown = preview(config)
    out = console()
    if as_json:
        typer.echo(json.dumps({"plan": shown.plan.splitlines(), "prompts": shown.prompts}))
        return
    out.print(shown.plan, markup=False, soft_wrap=True)
    for name, prompt in shown.prompts.items():
        out.rule(name, align="left")
        out.print(prompt, markup=False, highlight=False, soft_wrap=True)
