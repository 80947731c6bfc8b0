"""A run's events taken one by one, in order: what happened to every completion, child, batch and step."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from coevo.errors import RunError
from coevo.evolution.population import COST_DECIMALS
from coevo.records.event_log import CLOCK, RESUMED, Event
from coevo.reporting.learning import skill_of, step_of
from coevo.reporting.story import (
    BatchStory,
    BudgetStory,
    ChildStory,
    Fate,
    GenerationStory,
    OperatorUse,
    SkillStory,
    StepStory,
)

SKILL = "skill"
"""The name under which completions for the skill are asked for; they are on a meter of their own."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a candidate is worth on one split: mean cost and objective, None where it is not valid."""

    candidate: str
    cost: float | None
    objective: float | None


class Journal:
    """Gathers the facts of a run from its events.

    Args:
        charges_first: Whether the first population counts towards the budget.

    Attributes:
        started: The first event; empty while there is none.
        finished: The last one; empty for a run that did not come to its end.
        origins: The child that first had each program.
        start: Candidates that were judged before anything was asked: the user's own.
        judged: Verdicts by candidate, then split, on the run's own candidates.
        baselines: The same of the yardsticks from the problem's folder.
    """

    def __init__(self, charges_first: bool):
        self._charges_first = charges_first
        self.started: Event = {}
        self.finished: Event = {}
        self.children: list[ChildStory] = []
        self.origins: dict[str, ChildStory] = {}
        self.start: set[str] = set()
        self.judged: dict[str, dict[str, Verdict]] = defaultdict(dict)
        self.baselines: dict[str, dict[str, Verdict]] = defaultdict(dict)
        self.improvements: list[tuple[int, Verdict]] = []
        self._best = math.inf
        self.steps: list[StepStory] = []
        self.skills: list[SkillStory] = []
        self.fingerprint = ""
        self.resumed = 0
        self.hours = 0.0
        self.cpu_s = 0.0
        self._asked: Counter[str] = Counter()
        self._on_top = 0
        self._operators: dict[str, str] = {}
        self._answers: dict[str, Event] = {}
        self._place = 0
        self._charges = True
        self._rewards: dict[tuple[int, str], float | None] = {}
        self._ends: dict[int, tuple[float, float]] = {}
        self._time: float | None = None

    def take(self, event: Event) -> None:
        """Read one event.

        Raises:
            RunError: If it lacks what this version writes.
        """
        handlers = {
            "started": self._take_start, "asked": self._take_asked, "completion": self._take_completion,
            "verdict": self._take_verdict, "child": self._take_child, "batch": self._take_batch,
            "step": self._take_step, "generation": self._take_generation, "finished": self._take_end,
            "skill": self._take_skill, RESUMED: self._take_resumed,
        }  # fmt: skip
        try:
            self._take_clock(event)
            if (handler := handlers.get(event["kind"])) is not None:
                handler(event)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RunError(
                f"expected a {event['kind']} event as this version writes it, got {str(dict(event))[:120]}: "
                f"{type(error).__name__} {error}; the log was edited, or another version wrote it"
            ) from error

    def _take_clock(self, event: Event) -> None:
        now = event.get(CLOCK, {}).get("time")
        if now is None:
            return
        if self._time is not None and event["kind"] != RESUMED:
            self.hours += max(0.0, float(now) - self._time) / 3600
        self._time = float(now)

    def _take_start(self, event: Event) -> None:
        self.started = event
        self.fingerprint = str(event["fingerprint"])

    def _take_asked(self, event: Event) -> None:
        operator, requests = str(event["operator"]), event["requests"]
        self._asked[operator] += len(requests)
        self._operators |= {str(request["id"]): operator for request in requests}
        if operator == SKILL:
            return
        self._charges = self._charges_first or event["generation"] > 0
        self._on_top += 0 if self._charges else len(requests)

    def _take_completion(self, event: Event) -> None:
        self._answers[str(event["id"])] = {
            "text": str(event["text"]), "finish": event["finish"], "tokens": int(event["tokens"]),
        }  # fmt: skip

    def _take_verdict(self, event: Event) -> None:
        verdict = Verdict(str(event["candidate"]), _number(event["cost"]), _number(event["objective"]))
        is_own, split = event["role"] == "candidate", str(event["split"])
        (self.judged if is_own else self.baselines)[verdict.candidate].setdefault(split, verdict)
        self.cpu_s += float(event.get(CLOCK, {}).get("cpu_s", 0.0))
        if is_own and split == "search":
            self._judge(verdict)

    def _judge(self, verdict: Verdict) -> None:
        if not self._asked:
            self.start.add(verdict.candidate)
        if verdict.cost is not None and verdict.cost < self._best:
            self._best = verdict.cost
            # A verdict is recorded just before its child, so the child's place is the next one.
            self.improvements.append((self._place + 1 if self._asked and self._charges else 0, verdict))

    def _take_child(self, event: Event) -> None:
        self._place += self._charges
        candidate = None if event["candidate"] is None else str(event["candidate"])
        child = ChildStory(
            name=str(event["id"]),
            place=self._place if self._charges else 0,
            generation=int(event["generation"]),
            operator=str(event["operator"]),
            parents=tuple(map(str, event["parents"])),
            candidate=candidate,
            status=str(event["status"]),
            detail=str(event["detail"]),
            cost=_number(event["cost"]),
            fate=self._fate(event),
            answer=self._answers.get(str(event["id"]), {}).get("text", ""),
        )
        self.children.append(child)
        if candidate is not None and candidate not in self.start:
            self.origins.setdefault(candidate, child)

    def _fate(self, event: Event) -> Fate:
        candidate = event["candidate"]
        if candidate is not None and candidate in event["parents"]:
            return "copy"
        if event["cost"] is None:
            return "failed"
        return "repeat" if candidate in self.origins or candidate in self.start else "new"

    def _take_batch(self, event: Event) -> None:
        self._rewards[int(event["generation"]), str(event["operator"])] = _number(event["reward"])

    def _take_step(self, event: Event) -> None:
        self.steps.append(step_of(event))
        self.fingerprint = str(event["fingerprint"])

    def _take_generation(self, event: Event) -> None:
        self._ends[int(event["generation"])] = (float(event["best"]), float(event["worst"]))

    def _take_end(self, event: Event) -> None:
        self.finished = event

    def _take_skill(self, event: Event) -> None:
        self.skills.append(skill_of(event, self.skills[-1] if self.skills else None))

    def _take_resumed(self, event: Event) -> None:
        self.resumed += 1

    @property
    def budget(self) -> BudgetStory:
        """Completions by meter; what is planned follows from the first event."""
        planned = sum(sum(counts.values()) for counts in self.started.get("generations", ()))
        planned += int(self.started.get("first", 0)) if self._charges_first else 0
        operator = sum(self._asked.values()) - self._asked[SKILL] - self._on_top
        return BudgetStory(operator, self._on_top, self._asked[SKILL], planned)

    def batches(self) -> tuple[BatchStory, ...]:
        """The children of each operator in each generation, in order."""
        grouped = _grouped(self.children, lambda child: (child.generation, child.operator))
        return tuple(
            BatchStory(
                generation=generation,
                operator=operator,
                children=len(group),
                valid=sum(child.cost is not None for child in group),
                reward=self._rewards.get((generation, operator)),
            )
            for (generation, operator), group in grouped.items()
        )

    def generations(self) -> tuple[GenerationStory, ...]:
        """Each generation's children, in order, with the population it left."""
        grouped = _grouped(self.children, lambda child: child.generation)
        return tuple(self._generation(*item) for item in grouped.items())

    def _generation(self, number: int, children: list[ChildStory]) -> GenerationStory:
        costs = [child.cost for child in children if child.cost is not None]
        best, worst = self._ends.get(number, (None, None))
        return GenerationStory(
            generation=number,
            children=len(children),
            valid=len(costs),
            programs=len({child.candidate for child in children if child.candidate is not None}),
            costs=len({round(cost, COST_DECIMALS) for cost in costs}),
            best=best,
            worst=worst,
            place=children[-1].place,
        )

    def operators(self) -> tuple[OperatorUse, ...]:
        """Where the completions went, by operator in order of first use."""
        fates: dict[str, Counter[Fate]] = defaultdict(Counter)
        for child in self.children:
            fates[child.operator][child.fate] += 1
        return tuple(self._use(operator, asked, fates[operator]) for operator, asked in self._asked.items())

    def _use(self, operator: str, asked: int, fates: Mapping[Fate, int]) -> OperatorUse:
        answers = [answer for name, answer in self._answers.items() if self._operators.get(name) == operator]
        tokens = sum(answer["tokens"] for answer in answers)
        cut_off = sum(answer["finish"] == "length" for answer in answers)
        return OperatorUse(operator, asked, len(answers), tokens, cut_off, dict(fates))

    def failures(self) -> tuple[tuple[str, int], ...]:
        """Why children were not valid, most frequent reason first; equals in order of appearance."""
        reasons = Counter(f"{c.status}: {c.detail}" for c in self.children if c.cost is None)
        return tuple(reasons.most_common())

    def operator_of(self, candidate: str) -> str:
        """Who wrote a program first: an operator, "start" for the user, or nothing where its child is not recorded."""
        origin = self.origins.get(candidate)
        return origin.operator if origin else "start" if candidate in self.start else ""


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _grouped(children: Iterable[ChildStory], key: Any) -> dict[Any, list[ChildStory]]:
    groups: dict[Any, list[ChildStory]] = defaultdict(list)
    for child in children:
        groups[key(child)].append(child)
    return groups
