"""`coevo landscape`: scores on a plane through the weights, with their sampling error."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coevo.cli import options
from coevo.cli.options import MODEL, RUN

if TYPE_CHECKING:
    from coevo.experiments.landscape import LandscapeResult
    from coevo.records.event_log import Event, Listener


def landscape(
    env: options.AgentEnv = None,
    option: options.EnvOption = None,
    run: Annotated[str | None, typer.Option(help="Tuning run whose weights are the centre.")] = None,
    generation: Annotated[
        str | None, typer.Option(help="After which generation of the run: best, last or a number.  [best]")
    ] = None,
    points: Annotated[int | None, typer.Option(help="Points of a side, an odd number.  [11; published: 31]")] = None,
    radius: Annotated[
        float | None, typer.Option(help="Largest offset along a direction, in weight units.  [5 times σ]")
    ] = None,
    split: Annotated[str | None, typer.Option(help="Split to play.  [val]")] = None,
    tasks: Annotated[int | None, typer.Option(help="Tasks of the split, from its start.  [all]")] = None,
    repeats: Annotated[int | None, typer.Option(help="Episodes of each task at each point.  [1]")] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="player (Sudoku only), a Hugging Face folder or a downloaded hub name.  [the run's, or player]",
            rich_help_panel=MODEL,
        ),
    ] = None,
    engine: Annotated[str | None, typer.Option(help="auto, torch or vllm.", rich_help_panel=MODEL)] = None,
    scope: Annotated[
        str | None,
        typer.Option(help="Weights that directions move: full, linear or a regular expression.", rich_help_panel=MODEL),
    ] = None,
    temperature: options.SamplingTemperature = None,
    top_p: options.TopP = None,
    top_k: options.TopK = None,
    turns: options.Turns = None,
    turn_tokens: options.TurnTokens = None,
    seed: Annotated[int | None, typer.Option(help="Seed of directions and episodes.  [0]", rich_help_panel=RUN)] = None,
    workers: options.Workers = None,
    runs_dir: options.RunsDir = Path("runs"),
    json: options.RunJson = False,
) -> None:
    """Survey scores around a model's weights: points.csv, and a page that shows the sampling error beside them."""
    given = {
        "env": env, "points": points, "radius": radius, "split": split, "tasks": tasks, "repeats": repeats,
        "model": model, "engine": engine, "seed": seed, "workers": workers,
    }  # fmt: skip
    answers = {
        "temperature": temperature, "top_p": top_p, "top_k": top_k, "turns": turns, "turn_tokens": turn_tokens,
    }  # fmt: skip

    from coevo.cli.given import options_of
    from coevo.cli.summary import present
    from coevo.experiments.landscape import run_landscape
    from coevo.tuning.landscape import make_landscape_config

    tables = {"options": options_of(option), "answers": present(answers), "weights": present({"scope": scope})}
    config = make_landscape_config(present(given) | tables, run, generation)
    with following_landscape(config.points**2) as listener:
        result = run_landscape(config, runs_dir=runs_dir, listeners=(listener,))
    show_landscape(result, as_json=json)


@contextmanager
def following_landscape(points: int) -> "Iterator[Listener]":
    """Show progress on standard error while the block runs: one line per row of the plane.

    Raises:
        typer.Exit: With 130 after an interrupt or SIGTERM, once it has said how to go on.
    """
    from coevo.cli.resumable import resumable

    done = 0

    def tell(event: "Event") -> None:
        nonlocal done
        if event["kind"] == "point":
            done += 1
        elif event["kind"] == "playing":
            typer.echo(f"row {event['row'] + 1}: {done} of {points} points done", err=True)

    with resumable() as whereabouts:
        yield whereabouts.told_by(tell)


def show_landscape(result: "LandscapeResult", *, as_json: bool) -> None:
    """Write the page and print a result; exits with 1 if no episode could be scored."""
    from coevo.cli.apart import prints_apart
    from coevo.experiments.landscape import POINTS, by_chance
    from coevo.reporting.writing import write_page

    with prints_apart():
        page = write_page(Path(result.run))
    if as_json:
        typer.echo(result.model_dump_json())
    else:
        others = len(result.points) - 1
        typer.echo(f"{result.differing} of {others} points differ from the centre; {by_chance(others)} would by chance")
        typer.echo(f"points: {Path(result.run) / POINTS}\npage: {page}\nrun: {result.run}")
    if all(point.mean is None for point in result.points):
        raise typer.Exit(1)
