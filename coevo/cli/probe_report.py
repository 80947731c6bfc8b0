"""What a probe shows while it runs, and when it is done."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich import box
from rich.table import Table

from coevo.cli.resumable import resumable
from coevo.cli.summary import console, percent
from coevo.experiments.probe_config import SETS, ProbeConfig
from coevo.experiments.probe_result import ProbeMeasurement, ProbeResult
from coevo.records.event_log import Event, Listener


@contextmanager
def following_probe(config: ProbeConfig) -> Iterator[Listener]:
    """Show progress on standard error while the block runs: a plan, then one line per step and measurement.

    Raises:
        typer.Exit: With 130 after an interrupt or SIGTERM, once it has said how to go on.
    """

    def tell(event: Event) -> None:
        if (line := plan_line(config) if event["kind"] == "started" else line_of(event, config.steps)) is not None:
            typer.echo(line, err=True)

    with resumable() as whereabouts:
        yield whereabouts.told_by(tell)


def plan_line(config: ProbeConfig) -> str:
    """What a probe is going to ask for, on one line."""
    measurements = len(SETS) * (3 + (0 if config.every is None else max(0, config.steps - 1) // config.every))
    return (
        f"plan: {'parents from files' if config.parents else 'the model writes parents'}, {config.steps} steps with "
        f"{config.training} completions in all, {measurements} measurements of {config.evaluations} completions"
    )


def line_of(event: Event, steps: int) -> str | None:
    """What an event is worth saying, on one line; None for most."""
    if event["kind"] == "round" and event["purpose"] == "parents":
        return f"round {event['generation'] + 1}: the model writes candidates for parents"
    if event["kind"] == "parents":
        return f"parents: {len(event['trained'])} to train on, {len(event['held_out'])} held out"
    if event["kind"] == "batch":
        return (
            f"step {event['generation']}/{steps} · members' reward {event['reward']:+.3f} · "
            f"valid {percent(event['valid'] / event['children'])} · distinct {event['distinct']} of {event['children']}"
        )
    if event["kind"] == "guard" and event["refused"]:
        return (
            f"guard: step {event['step'] + 1} refused, valid {percent(event['valid'])} below "
            f"{percent(event['bound'])}; σ and α are {event['scale']:g} of their start"
        )
    if event["kind"] == "probe":
        return (
            f"{event['when']}, {_named(event['parents'])} parents: "
            f"reward {event['reward']:+.3f} ± {event['standard_error']:.3f}, valid {percent(event['valid'])}"
        )
    return None


def print_probe(result: ProbeResult, *, as_json: bool) -> None:
    """Print a result."""
    if as_json:
        typer.echo(result.model_dump_json())
        return
    out = console()
    title = "the unperturbed model, mean ± standard error"
    table = Table(title=title, title_justify="left", box=box.SIMPLE, pad_edge=False, collapse_padding=True)
    table.add_column("parents", no_wrap=True)
    for name in ("reward", "change", "valid", "better", "distinct"):
        table.add_column(name, justify="right", no_wrap=True)
    for found in result.measurements:
        table.add_row(*_row(found))
    out.print(table)
    spent = result.budget
    refused = f", {result.refused} steps refused by the guard" if result.refused else ""
    out.print(
        f"{result.status}: {spent.training} of {spent.planned} completions in training{refused}, {spent.evaluation} to "
        f"measure, {spent.parents} for parents, {result.wall_s:.0f} s, model fingerprint {result.fingerprint}",
        markup=False,
        soft_wrap=True,
    )
    if result.scale is not None:
        out.print(f"a reward of 1 is a cost lower by {result.scale:.6g}, the parents' spread", markup=False)
    out.print(f"run: {result.run}", markup=False, soft_wrap=True)


def _row(found: ProbeMeasurement) -> tuple[str, ...]:
    when = f"{found.step} steps" if found.when == "during" else found.when
    change = "–" if found.change is None else f"{found.change:+.3f} ± {found.change_error:.3f}"
    return (
        f"{when}, {_named(found.parents)}",
        f"{found.reward:+.3f} ± {found.standard_error:.3f}",
        change,
        f"{100 * found.valid:.0f} %",
        f"{100 * found.improved:.0f} %",
        f"{found.distinct}/{found.completions}",
    )


def _named(parents: str) -> str:
    return parents.replace("_", " ")
