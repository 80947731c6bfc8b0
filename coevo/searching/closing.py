"""What a run's own events say at its end: budget, best candidate, and how far the search came from its first one."""

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from coevo.records.event_log import Event, read_events
from coevo.records.run_directory import RunDirectory
from coevo.searching.asking import SKILL_METER
from coevo.searching.loop import Search

_FAILURES_SHOWN = 3


@dataclass
class Tally:
    """Numbers of a run, gathered from its events in order; every number of a result is one of these."""

    charges_first: bool
    asked: int = 0
    on_top: int = 0
    skill: int = 0
    fingerprint: str = ""
    first: dict[str, Any] | None = None
    best: dict[str, Any] | None = None
    statuses: Counter[str] = field(default_factory=Counter)
    costs: set[float] = field(default_factory=set)
    failures: Counter[str] = field(default_factory=Counter)

    def take(self, event: Event) -> None:
        """Count one event."""
        if event["kind"] == "asked":
            self._charge(event)
        elif event["kind"] in ("started", "step"):
            self.fingerprint = event["fingerprint"]
        elif event["kind"] == "child":
            self.statuses[event["status"]] += 1
            if event["cost"] is None:
                self.failures[f"{event['status']}: {event['detail']}"] += 1
        elif event["kind"] == "verdict" and event["role"] == "candidate" and event["split"] == "search":
            self._judge(event)

    def _charge(self, event: Event) -> None:
        if event["operator"] == SKILL_METER:
            self.skill += len(event["requests"])
        elif event["generation"] == 0 and not self.charges_first:
            self.on_top += len(event["requests"])
        else:
            self.asked += len(event["requests"])

    def frequent_failures(self) -> tuple[str, ...]:
        """The three most frequent reasons for which children failed, with their counts."""
        return tuple(f"{count} × {reason}" for reason, count in self.failures.most_common(_FAILURES_SHOWN))

    def _judge(self, event: Event) -> None:
        if event["cost"] is None:
            return
        self.costs.add(event["cost"])
        if self.first is None or event["cost"] < (self.best or self.first)["cost"]:
            self.best = {key: event[key] for key in ("candidate", "cost", "objective")}
            self.first = self.first or self.best

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
    for event in read_events(directory.events):
        tally.take(event)
    planned = search.plan.charged
    return {
        "status": status,
        "first": tally.first,
        "best": tally.best,
        "explanation": tally.explanation(),
        "splits": {},
        "comparisons": {},
        "budget": {"operator": tally.asked, "on_top": tally.on_top, "skill": tally.skill, "planned": planned},
        "fingerprint": tally.fingerprint,
        "failures": tally.frequent_failures() if tally.best is None else (),
        "wall_s": round(time.monotonic() - started, 3),
        "run": str(directory.path),
    }
