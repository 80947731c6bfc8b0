"""What a tuning run shows while it runs, and when it is done."""

import json
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from coevo.cli.apart import prints_apart
from coevo.cli.resumable import resumable
from coevo.cli.summary import console, printable
from coevo.records.event_log import Event, Listener
from coevo.tuning.config import TuneConfig
from coevo.tuning.result import Measured, TuneResult
from coevo.tuning.tally import Tally


class Progress:
    """Numbers of the live view, kept up to date from events."""

    def __init__(self, config: TuneConfig) -> None:
        self.config = config
        self.phase = "starting the model and the environment"
        self.tally = Tally()
        self.generation = self.episodes = self.of = 0
        self.reward: float | None = None
        self.sigma: float | None = None
        self.measured: list[tuple[int, float]] = []
        self.fault = ""
        self.is_level = False

    def take(self, event: Event) -> str | None:
        """Update from one event; a line worth saying of it, if there is one."""
        self.tally.take(event)
        handler = getattr(self, f"_on_{event['kind']}", None)
        return None if handler is None else handler(event)

    def _on_playing(self, event: Event) -> None:
        self.generation, self.episodes, self.of = event["generation"], 0, event["episodes"]
        of = f" of {self.config.generations}" if event["purpose"] == "train" else ""
        self.phase = f"generation {self.generation}{of}, {event['purpose']}"
        if event["purpose"] == "train":
            self.is_level = False

    def _on_episode(self, event: Event) -> str | None:
        self.episodes += 1
        if event["score"] is None and not self.fault:
            self.fault = printable(event["detail"])
            return f"the surroundings of {event['task']} failed: {self.fault}"
        return None

    def _on_played(self, event: Event) -> None:
        self.reward = event["mean"]

    def _on_step(self, event: Event) -> None:
        self.sigma = event["sigma"]
        self.is_level = self.reward is not None and len(set(event["rewards"])) == 1

    def _on_measured(self, event: Event) -> str:
        if event["split"] == "val" and not event["label"] and event["mean"] is not None:
            self.measured.append((event["generation"], event["mean"]))
        told = _score(event["mean"], event["error"])
        return f"after generation {event['generation']}, {event['split']}: score {told}, {_long(event['turns'])} turns"

    def _on_generation(self, event: Event) -> str:
        return self.line()

    def line(self) -> str:
        """The state on one line."""
        reward = "–" if self.reward is None else f"{self.reward:.3f}"
        sigma = "–" if self.sigma is None else f"{self.sigma:.2g}"
        dropped = f"dropped {self.tally.dropped} tasks" if self.tally.dropped else ""
        level = "all members scored alike: weights stay" if self.is_level else ""
        parts = [f"generation {self.generation}/{self.config.generations}", f"members' score {reward}", f"σ {sigma}"]
        return " · ".join([*parts, *filter(None, (level, dropped))])


class _Screen:
    """The terminal's picture of the progress."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._started = time.monotonic()

    def __rich__(self) -> Group:
        progress = self._progress
        seconds = time.monotonic() - self._started
        grid = Table.grid(padding=(0, 2))
        bar = ProgressBar(max(1, progress.of), progress.episodes, width=30)
        rate = f"{progress.tally.spent['turns'] / seconds:.0f} turns/s" if seconds > 0 else "–"
        grid.add_row("episodes", f"{progress.episodes}/{progress.of}", bar, rate)
        grid.add_row("members' score", "–" if progress.reward is None else f"{progress.reward:.3f}")
        val = "  ".join(f"{generation}: {mean:.3f}" for generation, mean in progress.measured[-6:])
        grid.add_row("val", val or "–")
        grid.add_row("σ", "–" if progress.sigma is None else f"{progress.sigma:.3g}", progress.fault)
        return Group(Text(f"{progress.phase}  ({seconds:.0f} s)"), grid)


@contextmanager
def following_tuning(config: TuneConfig) -> Iterator[Listener]:
    """Show progress on standard error while the block runs; yields the listener to give the run.

    Raises:
        typer.Exit: With 130 after an interrupt or SIGTERM, once it has said how to go on.
    """
    with resumable() as whereabouts, _shown(Progress(config)) as listener:
        yield whereabouts.told_by(listener)


@contextmanager
def _shown(progress: Progress) -> Iterator[Listener]:
    out = Console(file=sys.stderr)
    if out.is_terminal:
        with Live(_Screen(progress), console=out, refresh_per_second=4, transient=False):
            yield lambda event: _ignore(progress.take(event))
        return

    def take_and_print(event: Event) -> None:
        if (line := progress.take(event)) is not None:
            out.print(line, markup=False, soft_wrap=True)

    yield take_and_print


def _ignore(_: object) -> None:
    return


def print_plan(config: TuneConfig, *, as_json: bool) -> None:
    """Show what a run would do, once it is checked as far as is possible without a model.

    Raises:
        CoevoError: If a run would be refused.
    """
    from coevo.tuning.preview import preview

    with prints_apart():
        plan = preview(config)
    if as_json:
        typer.echo(json.dumps(plan))
        return
    for name, value in plan.items():
        told = ", ".join(f"{key} {each}" for key, each in value.items()) if isinstance(value, dict) else value
        typer.echo(printable(f"{name.replace('_', ' ')}: {'–' if told in (None, '') else told}"))


def print_tuning(result: TuneResult, *, as_json: bool) -> None:
    """Print a result; exits with 1 if no episode could be scored, or the surroundings never let a generation play."""
    if as_json:
        typer.echo(result.model_dump_json())
    else:
        _print(result)
    if result.best is None or result.status == "surroundings-failed":
        raise typer.Exit(1)


def _print(result: TuneResult) -> None:
    out = console()
    table = Table(title="mean score ± standard error over tasks", title_justify="left", box=box.SIMPLE, pad_edge=False)
    table.add_column("split")
    for name in ("start", "chosen", "turns", "tokens", "tasks"):
        table.add_column(name, justify="right", no_wrap=True)
    for split, start in result.start.items():
        table.add_row(split, *_row(start, result.chosen.get(split)))
    out.print(table)
    for line in _weights(result):
        out.print(line, markup=False, soft_wrap=True)
    spent = result.spent
    dropped = f", {result.dropped} tasks dropped" if result.dropped else ""
    out.print(
        f"{result.status}: {spent.episodes} of {spent.planned} episodes, {spent.measuring} to measure, {spent.tokens} "
        f"tokens{dropped}, {result.wall_s:.0f} s",
        markup=False,
        soft_wrap=True,
    )
    out.print(f"run: {result.run}", markup=False, soft_wrap=True)
    if result.best is not None and result.best.generation:
        run = shlex.quote(result.run)
        out.print(f"as a model folder: coevo export {run} --generation best --to FOLDER", markup=False, soft_wrap=True)


def _weights(result: TuneResult) -> list[str]:
    """Which weights `val` chose, and the last ones where these are others, each with its fingerprint."""
    last = f"the weights after generation {result.generations}, fingerprint {result.fingerprint}"
    if result.best is None:
        return [f"last: {last}"]
    chosen = f"the weights after generation {result.best.generation}, fingerprint {result.best.fingerprint}"
    return [f"chosen by val: {chosen}"] + ([] if result.best.fingerprint == result.fingerprint else [f"last: {last}"])


def _row(start: Measured, chosen: Measured | None) -> tuple[str, ...]:
    last = chosen or start
    return (
        _score(start.mean, start.error),
        "–" if chosen is None else _score(chosen.mean, chosen.error),
        _long(last.turns),
        _long(last.tokens),
        str(last.tasks),
    )


def _score(mean: float | None, error: float | None) -> str:
    return "–" if mean is None else f"{mean:.3f}" + ("" if error is None else f" ± {error:.3f}")


def _long(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"
