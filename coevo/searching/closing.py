"""What a run's own events say at its end: budget, best candidate, and how far the search came from its first one."""

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from coevo.learning.paying import paid
from coevo.records.event_log import Event, read_events
from coevo.records.run_directory import RunDirectory
from coevo.searching.loop import Search
from coevo.searching.metering import Meter, is_new_best, meter_of, search_cost

_FAILURES_SHOWN = 3


@dataclass
class Tally:
    """Numbers of a run, gathered from its events in order; every number of a result is one of these."""

    charges_first: bool
    meters: Counter[Meter] = field(default_factory=Counter)
    fingerprint: str = ""
    first: dict[str, Any] | None = None
    best: dict[str, Any] | None = None
    lowest_after: int | None = None
    steps: int = 0
    moved: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    costs: set[float] = field(default_factory=set)
    failures: Counter[str] = field(default_factory=Counter)

    def take(self, event: Event) -> None:
        """Count one event."""
        if event["kind"] == "asked":
            self.meters[meter_of(event, charges_first=self.charges_first)] += len(event["requests"])
        elif event["kind"] in ("started", "step"):
            self.fingerprint = event["fingerprint"]
            self.steps += event["kind"] == "step"
            self.moved += event["kind"] == "step" and event["applied"]
        elif event["kind"] == "child":
            self.statuses[event["status"]] += 1
            if event["cost"] is None:
                self.failures[f"{event['status']}: {event['detail']}"] += 1
        elif event["kind"] == "verdict":
            self._judge(event)

    @property
    def asked(self) -> int:
        """Completions charged to the budget."""
        return self.meters["operator"]

    @property
    def on_top(self) -> int:
        """Those of a first population that does not count towards it."""
        return self.meters["on_top"]

    @property
    def skill(self) -> int:
        """Those charged for the skill."""
        return self.meters["skill"]

    def progress(self) -> dict[str, Any]:
        """How far the search came on its own split, and how often the model was moved."""
        return {
            "first": self.first,
            "lowest": self.best,
            "lowest_after": self.lowest_after,
            "steps": self.steps,
            "moved": self.moved,
        }

    def frequent_failures(self) -> tuple[str, ...]:
        """The three most frequent reasons for which children failed, with their counts."""
        return tuple(f"{count} × {reason}" for reason, count in self.failures.most_common(_FAILURES_SHOWN))

    def _judge(self, event: Event) -> None:
        if (cost := search_cost(event)) is None:
            return
        self.costs.add(cost)
        if is_new_best(event, self.best["cost"] if self.best else None):
            self.best = {key: event[key] for key in ("candidate", "cost", "objective")}
            self.first = self.first or self.best
            self.lowest_after = self.asked + self.on_top

    def explanation(self) -> str:
        """Why nothing better than the first candidate was found; empty if something was, or nothing valid at all."""
        if self.best is None or self.best is not self.first:
            return ""
        children, valid = self.statuses.total(), self.statuses["ok"]
        seldom = "; ".join(reason for reason, _ in self.failures.most_common(_FAILURES_SHOWN))
        return (
            f"{valid} of {children} children were valid, with {len(self.costs)} different costs, none below the first"
            + (f"; most frequent failures: {seldom}" if seldom else "")
        )


def closing(search: Search, directory: RunDirectory, started: float, status: str) -> dict[str, Any]:
    """The part of a result that an interrupted run has too."""
    tally = Tally(search.config.charge_first)
    events = list(read_events(directory.events))
    for event in events:
        tally.take(event)
    planned = search.plan.charged
    return {
        "status": status,
        **tally.progress(),
        "best": tally.best,
        "explanation": tally.explanation(),
        "splits": {},
        "comparisons": {},
        "budget": {"operator": tally.asked, "on_top": tally.on_top, "skill": tally.skill, "planned": planned},
        "fingerprint": tally.fingerprint,
        "failures": tally.frequent_failures() if tally.best is None else (),
        "paid": paid(events, search.config.allowance),
        "wall_s": round(time.monotonic() - started, 3),
        "run": str(directory.path),
    }
