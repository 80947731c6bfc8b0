"""`coevo replay`: rebuild a run's weights from its history and compare."""

from typing import TYPE_CHECKING

import typer

from coevo.cli.options import Json, RunArgument, StartModel, WeightsAfter

if TYPE_CHECKING:
    from coevo.searching.replaying import Replay


def replay(
    run: RunArgument,
    model: StartModel = None,
    generation: WeightsAfter = None,
    json: Json = False,
) -> None:
    """Rebuild a run's weights from its base model and history; exit code 1 if they are not those it reported."""
    import json as json_module

    from coevo.experiments.any_run import generation_named, load_any
    from coevo.searching.replaying import replay_run

    report = replay_run(run, model=model, load=load_any, until=generation_named(run, generation))
    typer.echo(json_module.dumps(as_values(report)) if json else "\n".join(lines(report)))
    if not report.agrees:
        raise typer.Exit(1)


def as_values(report: "Replay") -> dict[str, object]:
    """A replay as plain values."""
    from dataclasses import asdict

    return asdict(report) | {"agrees": report.agrees}


def lines(report: "Replay") -> list[str]:
    """A replay in words."""
    if report.agrees:
        verdict = "the history gives the weights of the run, bit for bit"
    elif report.parts_at is not None:
        verdict = f"they part at step {report.parts_at}: the history was edited, or the noise is of another version"
    elif report.missing:
        verdict = f"every step agrees, but {report.missing} are missing: the history is incomplete (see above)"
    else:
        verdict = "every step agrees, but the run reported other weights at its end: the result was edited"
    return [
        f"run: {report.run}",
        f"model: {report.model}",
        f"steps: {report.steps}, of which {report.updates} moved the weights",
        f"reached: {report.fingerprint}",
        f"recorded: {report.recorded}",
        verdict,
    ]
