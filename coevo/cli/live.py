"""The live view of a search: what the events say, on one screen or, without a terminal, one line per generation."""

import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from coevo.cli.resumable import resumable
from coevo.cli.summary import percent
from coevo.content import find_problem
from coevo.engines.endpoint.spending import Role, Tokens
from coevo.records.event_log import Event, Listener
from coevo.searching.config import SearchConfig
from coevo.searching.metering import Meter, is_new_best, meter_of, valid_share
from coevo.searching.result import gap


class Tally:
    """Numbers of the live view, kept up to date from events."""

    def __init__(self, config: SearchConfig):
        self.problem = find_problem(config.problem)
        self.budget = config.budget
        self.charges_first = config.charge_first
        self.allowance = config.allowance
        self.tokens: dict[Role, Tokens] = {}
        self.has_skill = config.skill_every is not None
        self.meters: Counter[Meter] = Counter()
        self.children = self.valid = self.generations = self.refused = 0
        self.best: float | None = None
        self.reference: float | None = None
        self.sigma = ""
        self.phase = "starting the model and the sandbox"
        self.guard = ""
        self.operators: dict[str, list[int]] = {}

    def take(self, event: Event) -> None:
        """Update from one event."""
        handler = getattr(self, f"_on_{event['kind']}", None)
        if handler is not None:
            handler(event)

    def _on_started(self, event: Event) -> None:
        self.reference = event["reference"]
        self.generations = len(event["generations"])

    def _on_asked(self, event: Event) -> None:
        self.phase = f"generation {event['generation']} of {self.generations}, {event['operator']}"
        self.meters[meter_of(event, charges_first=self.charges_first)] += len(event["requests"])

    def _on_child(self, event: Event) -> None:
        self.children += 1
        ok = event["status"] == "ok"
        self.valid += ok
        counts = self.operators.setdefault(event["operator"], [0, 0])
        counts[0] += 1
        counts[1] += ok

    def _on_verdict(self, event: Event) -> None:
        if event["split"] != "search" or event["role"] != "candidate":
            self.phase = f"measuring on {event['split']}"
        elif is_new_best(event, self.best):
            self.best = event["cost"]

    def _on_step(self, event: Event) -> None:
        self.sigma = f"{event['sigma']:.3g} in step {event['step']}"

    def _on_spent(self, event: Event) -> None:
        more = Tokens(event["prompt_tokens"], event["completion_tokens"])
        self.tokens[event["role"]] = self.tokens.get(event["role"], Tokens()) + more

    def _on_guard(self, event: Event) -> None:
        self.refused += event["refused"]
        if event["refused"]:
            self.guard = (
                f"the guard refused {self.refused} step{'' if self.refused == 1 else 's'}, the last one step "
                f"{event['step']}; σ and α are {event['scale']:g} of their settings"
            )

    @property
    def asked(self) -> int:
        """Completions charged to the budget."""
        return self.meters["operator"]

    @property
    def skill(self) -> str:
        """What the skill has cost so far; empty for a run without one."""
        return f"skill {self.meters['skill']}" if self.has_skill else ""

    @property
    def paid(self) -> str:
        """What servers have been paid so far; empty where none is asked."""
        if not self.tokens:
            return ""
        costs = [prices.cost(each) for role, each in self.tokens.items() if (prices := self.allowance.prices(role))]
        total = f"{sum(each.total for each in self.tokens.values())} tokens"
        return f"{total}, cost {sum(costs):.4g}" if costs else total

    @property
    def share(self) -> str:
        """Valid children per child."""
        return percent(valid_share(self.valid, self.children))

    @property
    def objective(self) -> float | None:
        """Best objective so far, own sense."""
        return None if self.best is None else self.problem.sign() * self.best

    @property
    def gap(self) -> float | None:
        """Gap of the best so far to the best known."""
        return gap(self.problem.sign(), self.objective, self.reference)

    def line(self) -> str:
        """The state on one line."""
        best = "–" if self.objective is None else f"{self.objective:.5f}"
        parts = [
            self.phase, f"budget {self.asked}/{self.budget}", self.skill, f"best {best}", f"gap {percent(self.gap)}",
            f"valid {self.share}", f"σ {self.sigma or '–'}", self.guard, self.paid,
        ]  # fmt: skip
        return " · ".join(part for part in parts if part)


class LiveScreen:
    """The terminal's picture of a tally."""

    def __init__(self, tally: Tally):
        self._tally = tally
        self._started = time.monotonic()

    def __rich__(self) -> Group:
        tally = self._tally
        seconds = time.monotonic() - self._started
        grid = Table.grid(padding=(0, 2))
        rate = f"{tally.children / seconds:.1f}/s" if seconds > 0 else "–"
        bar = ProgressBar(tally.budget, tally.asked, width=30)
        grid.add_row("budget", f"{tally.asked}/{tally.budget}", bar, f"{rate}  {tally.skill}".rstrip())
        best = "–" if tally.objective is None else f"{tally.objective:.5f}"
        grid.add_row("best objective", best, f"gap {percent(tally.gap)}")
        per_operator = "  ".join(
            f"{name} {percent(valid_share(ok, all_))}" for name, (all_, ok) in sorted(tally.operators.items())
        )
        grid.add_row("valid", tally.share, Text(per_operator))
        if tally.paid:
            grid.add_row("paid", tally.paid)
        grid.add_row("σ", tally.sigma or "–", tally.guard)
        return Group(Text(f"{tally.phase}  ({seconds:.0f} s)"), grid)


def warning(sentences: Sequence[str]) -> Listener:
    """Says what is allowed but unwise once the job has begun: a refusal before that is to be the only line."""

    def take(event: Event) -> None:
        if event["kind"] == "started":
            for sentence in sentences:
                typer.echo(f"coevo: {sentence}", err=True)

    return take


@contextmanager
def following(config: SearchConfig) -> Iterator[Listener]:
    """Show a search's progress on standard error while the block runs; yields the listener to give it.

    Raises:
        typer.Exit: With 130 after an interrupt or SIGTERM, once it has said how to go on.
    """
    with resumable() as whereabouts, _shown(config) as listener:
        yield whereabouts.told_by(listener)


@contextmanager
def _shown(config: SearchConfig) -> Iterator[Listener]:
    tally = Tally(config)
    console = Console(file=sys.stderr)
    if console.is_terminal:
        with Live(LiveScreen(tally), console=console, refresh_per_second=4, transient=False):
            yield tally.take
        return

    def take_and_print(event: Event) -> None:
        tally.take(event)
        if event["kind"] == "generation":
            console.print(tally.line(), markup=False, soft_wrap=True)

    yield take_and_print
