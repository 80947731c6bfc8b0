"""The numbers of one run, from its own events and `result.json`; what both say is compared, so that neither can drift.

Wall time is the time between the first and the last event, without the pauses before a run was resumed: starting the
model and the sandbox is not in it.
"""

import hashlib
import statistics
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from coevo.errors import RunError
from coevo.evaluation.fresh_seeds import parse_split
from coevo.records.event_log import CLOCK, RESUMED, Event, read_events
from coevo.records.run_directory import RunDirectory
from coevo.searching.api import Run, load_run
from coevo.searching.asking import SKILL_METER
from coevo.searching.result import SearchResult, SplitResult


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
class _Numbers:
    """What is added up over a run's events."""

    charges_first: bool
    meters: Counter[str] = field(default_factory=Counter)
    tokens: int = 0
    evaluator_s: Counter[bool] = field(default_factory=Counter)
    children: Counter[str] = field(default_factory=Counter)
    valid: Counter[str] = field(default_factory=Counter)
    rewards: dict[str, list[tuple[float, int]]] = field(default_factory=dict)
    objectives: dict[tuple[str, str], list[float | None]] = field(default_factory=dict)
    best: tuple[float, float] | None = None
    """Least cost on the search split, and that candidate's objective."""
    fingerprint: str = ""

    def take(self, event: Event) -> None:
        """Add one event."""
        handler = getattr(self, f"_on_{event['kind']}", None)
        if handler is not None:
            handler(event)

    def _on_started(self, event: Event) -> None:
        self.fingerprint = event["fingerprint"]

    def _on_step(self, event: Event) -> None:
        self.fingerprint = event["fingerprint"]

    def _on_asked(self, event: Event) -> None:
        is_on_top = event["generation"] == 0 and not self.charges_first
        meter = SKILL_METER if event["operator"] == SKILL_METER else "on_top" if is_on_top else "operator"
        self.meters[meter] += len(event["requests"])

    def _on_completion(self, event: Event) -> None:
        self.tokens += event["tokens"]

    def _on_child(self, event: Event) -> None:
        self.children[event["operator"]] += 1
        self.valid[event["operator"]] += event["status"] == "ok"

    def _on_batch(self, event: Event) -> None:
        if event["reward"] is not None:
            self.rewards.setdefault(event["operator"], []).append((event["reward"], event["children"]))

    def _on_verdict(self, event: Event) -> None:
        split = parse_split(event["split"])[0]
        self.evaluator_s[split == "search"] += event[CLOCK]["cpu_s"]
        if event["role"] != "candidate":
            return
        self.objectives.setdefault((event["candidate"], event["split"]), []).append(event["objective"])
        if event["split"] == "search" and event["cost"] is not None:
            self.best = min(self.best or (event["cost"], event["objective"]), (event["cost"], event["objective"]))

    def operators(self) -> dict[str, OperatorNumbers]:
        """The numbers of each operator, in order of appearance."""
        return {
            name: OperatorNumbers(count, self.valid[name], _weighted(self.rewards.get(name, [])))
            for name, count in self.children.items()
        }

    def measured(self, candidate: str, split: str) -> float | None:
        """A candidate's mean on a split as a result states it: over fresh seeds if it was measured under any."""
        own = {name: values for (identity, name), values in self.objectives.items() if identity == candidate}
        draws = [
            value for name, values in own.items() if "#" in name and parse_split(name)[0] == split for value in values
        ]
        values = draws or own.get(split, [])
        known = [value for value in values if value is not None]
        return statistics.fmean(known) if known and len(known) == len(values) else None


def summarise(path: Path) -> RunSummary:
    """The numbers of a run, finished or not.

    Raises:
        RunError: If it is not a run directory, another version wrote it, or its result is not what its events say.
    """
    run = load_run(path)
    file = RunDirectory(run.path).events
    if not file.is_file():
        raise RunError(f"expected the run {path} to have begun, found no event in it; go on with: coevo resume {path}")
    events = list(read_events(file))
    numbers = _Numbers(run.config.charge_first)
    try:
        for event in events:
            numbers.take(event)
        wall_s = _wall(events)
    except (KeyError, TypeError) as error:
        raise RunError(f"{file}: expected events of this version, got one without {error}") from error
    if run.result is not None:
        _check(run, run.result, numbers)
    return _summary(run, numbers, wall_s, file)


def _summary(run: Run, numbers: _Numbers, wall_s: float, events: Path) -> RunSummary:
    result = run.result
    return RunSummary(
        run=run.path,
        status="unfinished" if result is None else result.status,
        best=None if numbers.best is None else numbers.best[1],
        splits={} if result is None else result.splits,
        operator=numbers.meters["operator"],
        on_top=numbers.meters["on_top"],
        skill=numbers.meters[SKILL_METER],
        planned=run.config.budget,
        tokens=numbers.tokens,
        wall_s=wall_s,
        evaluator_search_s=round(numbers.evaluator_s[True], 6),
        evaluator_s=round(numbers.evaluator_s[True] + numbers.evaluator_s[False], 6),
        children=numbers.children.total(),
        valid=numbers.valid.total(),
        operators=numbers.operators(),
        fingerprint=numbers.fingerprint,
        events_sha256=hashlib.sha256(events.read_bytes()).hexdigest(),
    )


def _check(run: Run, result: SearchResult, numbers: _Numbers) -> None:
    """Refuse a result that its events do not support."""
    said = result.budget
    stated: dict[str, Any] = {
        "budget.operator": said.operator,
        "budget.on_top": said.on_top,
        "budget.skill": said.skill,
    }
    found: dict[str, Any] = {f"budget.{name}": numbers.meters[name] for name in ("operator", "on_top", SKILL_METER)}
    if result.status == "interrupted":
        return
    for split, value in result.splits.items():
        key = f"splits.{split}.objective"
        stated[key] = value.objective
        identity = "" if result.best is None else result.best.candidate
        found[key] = numbers.measured(identity, split)
    for name, value in stated.items():
        if value != found[name]:
            raise RunError(
                f"{run.path / 'result.json'}: expected {name} = {found[name]}, as the run's events say, got {value}; "
                "one of the two files was edited"
            )


def _wall(events: list[Event]) -> float:
    times = [(event["kind"], float(event[CLOCK]["time"])) for event in events]
    return round(sum(after - before for (_, before), (kind, after) in pairwise(times) if kind != RESUMED), 3)


def _weighted(rewards: list[tuple[float, int]]) -> float | None:
    count = sum(children for _, children in rewards)
    return sum(reward * children for reward, children in rewards) / count if count else None
