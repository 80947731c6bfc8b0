"""What an evaluation of agents shows while it runs, and when it is done."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from coevo.cli.resumable import resumable
from coevo.cli.summary import console, onward, paid_line, printable
from coevo.records.event_log import Event, Listener
from coevo.tuning.eval_result import Estimate, EvalResult, Evaluated, OverRuns, Row

_PARTS = 10
"""Lines of progress of a batch of episodes."""


class _Counter:
    """Says how far a batch of episodes is."""

    def __init__(self) -> None:
        self._done, self._of, self._what = 0, 0, ""

    def line_of(self, event: Event) -> str | None:
        """What an event is worth saying, on one line; None for most."""
        if event["kind"] == "subject" and event["run"] is not None:
            return f"weights of {event['run']} after generation {event['generation']}"
        if event["kind"] == "playing":
            self._done, self._of, self._what = 0, event["episodes"], event["split"]
        if event["kind"] == "episode":
            return self._counted(event)
        if event["kind"] == "measured" and event["mean"] is not None:
            return f"{event['split']}: score {event['mean']:.3f} over {event['tasks']} tasks"
        return None

    def _counted(self, event: Event) -> str | None:
        self._done += 1
        if event["score"] is None:
            return f"the surroundings of {printable(event['task'])} failed: {printable(event['detail'])}"
        if self._done * _PARTS // self._of > (self._done - 1) * _PARTS // self._of:
            return f"{self._what}: {self._done} of {self._of} episodes"
        return None


@contextmanager
def following_eval() -> Iterator[Listener]:
    """Show progress on standard error while the block runs.

    Raises:
        typer.Exit: With 130 after an interrupt or SIGTERM, once it has said how to go on.
    """
    counter = _Counter()

    def tell(event: Event) -> None:
        if (line := counter.line_of(event)) is not None:
            typer.echo(line, err=True)

    with resumable() as whereabouts:
        yield whereabouts.told_by(tell)


def print_eval(result: EvalResult, *, as_json: bool) -> None:
    """Print a result; exits with 1 if no episode could be scored."""
    if as_json:
        typer.echo(result.model_dump_json())
    else:
        _print(result)
    if not result.is_measured:
        raise typer.Exit(1)


def _print(result: EvalResult) -> None:
    out = console()
    for split in dict.fromkeys(split for row in result.rows for split in row.splits):
        out.print(_table(result, split))
        for row in result.rows:
            if (found := row.splits.get(split)) is not None:
                out.print(f"{_name(row)}: {_accounts(found)}", markup=False, soft_wrap=True)
    out.print(
        f"{result.status}: {result.episodes} episodes, {result.turns} turns, {result.tokens} tokens, "
        f"{result.wall_s:.0f} s",
        markup=False,
    )
    for role, paid in result.paid.items():
        out.print(paid_line(role, paid), markup=False, soft_wrap=True)
    out.print(f"run: {result.run}", markup=False, soft_wrap=True)
    if (line := onward(result.status, result.run)) is not None:
        out.print(line, markup=False, soft_wrap=True)


def _table(result: EvalResult, split: str) -> Table:
    """The numbers of each subject under each other, those over all runs last."""
    table = Table(title=split, title_justify="left", box=box.SIMPLE, pad_edge=False)
    table.add_column("weights", overflow="fold")
    table.add_column("", no_wrap=True)
    for name in ("mean", "95 % interval"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in result.rows:
        if (found := row.splits.get(split)) is not None:
            _add(table, _name(row), _numbers(found, result.repeats))
    if (over := result.over_runs.get(split)) is not None:
        _add(table, f"{over.runs} runs, intervals over training seeds", _numbers(over, result.repeats))
    return table


def _add(table: Table, name: str, numbers: dict[str, tuple[str, str]]) -> None:
    for place, (what, told) in enumerate(numbers.items()):
        table.add_row(escape(name) if place == 0 else "", what, *told, end_section=place == len(numbers) - 1)


def _numbers(found: Evaluated | OverRuns, repeats: int) -> dict[str, tuple[str, str]]:
    """Mean@K, the first and the last Pass@j, turns and tokens."""
    tries = list(found.passed)
    passed = {f"Pass@{j}": _told(found.passed[j], 3) for j in dict.fromkeys([*tries[:1], *tries[-1:]])}
    lengths = {"turns": _told(found.turns, 1), "tokens": _told(found.tokens, 1)}
    return {f"Mean@{repeats}": _told(found.mean, 3), **passed, **lengths}


def _told(found: Estimate | None, digits: int) -> tuple[str, str]:
    if found is None:
        return "–", "–"
    if found.low is None or found.high is None:
        return f"{found.value:.{digits}f}", "–"
    return f"{found.value:.{digits}f}", f"{found.low:.{digits}f} … {found.high:.{digits}f}"


def _name(row: Row) -> str:
    return "model" if row.run is None else f"{Path(row.run).name}@{row.generation}"


def _accounts(found: Evaluated) -> str:
    ended = ", ".join(f"{count} {why}" for why, count in found.ended.items())
    return f"{found.cases} tasks, {found.episodes} episodes, {found.faults} left out; ended: {ended}"
