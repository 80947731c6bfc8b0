"""The numbers of one run, from its own events and `result.json`; what both say is compared, so that neither can drift.

Wall time is the time between the first and the last event, without the pauses before a run was resumed: starting the
model and the sandbox is not in it.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from coevo.errors import RunError, escaped
from coevo.evaluation.fresh_seeds import parse_split
from coevo.experiments.evidence import Evidence
from coevo.records.event_log import CLOCK, RESUMED, Event, read_events
from coevo.records.run_directory import RunDirectory
from coevo.records.run_kind import SEARCH, check_kind
from coevo.searching.api import Run, load_run
from coevo.searching.closing import Tally
from coevo.searching.result import SplitResult


@dataclass(frozen=True, slots=True)
class OperatorNumbers:
    """What became of one operator's children. `reward` is their mean reward, None where no batch had one."""

    children: int
    valid: int
    reward: float | None


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run in numbers.

    Attributes:
        run: The run directory.
        status: As in `result.json`; "unfinished" while there is none.
        best: Best mean objective on the search split, own sense; None if no candidate was valid.
        splits: Mean objective and gap of the best heuristic, by split; empty for an unfinished run.
        operator: Completions charged to the budget.
        on_top: First completions that a published recipe does not charge.
        skill: Completions charged for skills.
        planned: The budget.
        tokens: Tokens of all completions.
        wall_s: Seconds from the first to the last event, without pauses.
        evaluator_search_s: CPU seconds of verdicts on the search split.
        evaluator_s: CPU seconds of all verdicts.
        children: Children made.
        valid: Those that were valid.
        operators: The same by operator, with rewards.
        fingerprint: Of the unperturbed weights in the end.
        events_sha256: Hash of the event log.
    """

    run: Path
    status: str
    best: float | None
    splits: Mapping[str, SplitResult]
    operator: int
    on_top: int
    skill: int
    planned: int
    tokens: int
    wall_s: float
    evaluator_search_s: float
    evaluator_s: float
    children: int
    valid: int
    operators: Mapping[str, OperatorNumbers]
    fingerprint: str
    events_sha256: str


@dataclass
class _Costs:
    """What is added up over a run's events beside its result."""

    tokens: int = 0
    evaluator_s: Counter[bool] = field(default_factory=Counter)
    """CPU seconds of verdicts on the search split, and on others."""
    children: Counter[str] = field(default_factory=Counter)
    valid: Counter[str] = field(default_factory=Counter)
    rewards: dict[str, list[tuple[float, int]]] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        """Add one event."""
        handler = getattr(self, f"_on_{event['kind']}", None)
        if handler is not None:
            handler(event)

    def _on_completion(self, event: Event) -> None:
        self.tokens += event["tokens"]

    def _on_child(self, event: Event) -> None:
        self.children[event["operator"]] += 1
        self.valid[event["operator"]] += event["status"] == "ok"

    def _on_batch(self, event: Event) -> None:
        if event["reward"] is not None:
            self.rewards.setdefault(event["operator"], []).append((event["reward"], event["children"]))

    def _on_verdict(self, event: Event) -> None:
        self.evaluator_s[parse_split(event["split"])[0] == "search"] += event[CLOCK]["cpu_s"]

    def operators(self) -> dict[str, OperatorNumbers]:
        """The numbers of each operator, in order of appearance."""
        return {
            name: OperatorNumbers(count, self.valid[name], _weighted(self.rewards.get(name, [])))
            for name, count in self.children.items()
        }


def summarise(path: Path) -> RunSummary:
    """The numbers of a run, finished or not.

    Raises:
        RunError: If it is not the run directory of a search, another version wrote it, or its result is not what its
            events say.
    """
    check_kind(path, SEARCH)  # before anything of its result is read
    run = load_run(path)
    file = RunDirectory(run.path).events
    if not file.is_file():
        raise RunError(f"expected the run {path} to have begun, found no event in it; go on with: coevo resume {path}")
    events = list(read_events(file))
    evidence, costs = Evidence(Tally(run.config.charge_first)), _Costs()
    try:
        for event in events:
            evidence.take(event)
            costs.take(event)
        wall_s = _wall(events)
        if run.result is not None:
            evidence.check(run.path / "result.json", run.result, run.config)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RunError(f"{file}: expected events of this version, {_fault(error)}") from error
    return _summary(run, evidence.tally, costs, wall_s)


def _fault(error: Exception) -> str:
    reason = escaped(str(error))
    return f"got one without {reason}" if isinstance(error, KeyError) else f"got {type(error).__name__}: {reason}"


def _summary(run: Run, tally: Tally, costs: _Costs, wall_s: float) -> RunSummary:
    result, events = run.result, RunDirectory(run.path).events
    return RunSummary(
        run=run.path,
        status="unfinished" if result is None else result.status,
        best=None if tally.best is None else tally.best["objective"],
        splits={} if result is None else result.splits,
        operator=tally.asked,
        on_top=tally.on_top,
        skill=tally.skill,
        planned=run.config.budget,
        tokens=costs.tokens,
        wall_s=wall_s,
        evaluator_search_s=round(costs.evaluator_s[True], 6),
        evaluator_s=round(costs.evaluator_s[True] + costs.evaluator_s[False], 6),
        children=costs.children.total(),
        valid=costs.valid.total(),
        operators=costs.operators(),
        fingerprint=tally.fingerprint,
        events_sha256=hashlib.sha256(events.read_bytes()).hexdigest(),
    )


def _wall(events: list[Event]) -> float:
    """Seconds between events; none where the clock went back."""
    times = [(event["kind"], float(event[CLOCK]["time"])) for event in events]
    return round(sum(max(0.0, after - before) for (_, before), (kind, after) in pairwise(times) if kind != RESUMED), 3)


def _weighted(rewards: list[tuple[float, int]]) -> float | None:
    count = sum(children for _, children in rewards)
    return sum(reward * children for reward, children in rewards) / count if count else None
