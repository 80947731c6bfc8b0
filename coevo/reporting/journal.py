"""A run's events taken one by one, in order: what happened to every completion, child, batch and step."""

from collections import Counter, defaultdict
from dataclasses import dataclass

from coevo.records.event_log import CLOCK, RESUMED, Event
from coevo.reporting.counts import Counts
from coevo.reporting.learning import guard_of, skill_of, step_of
from coevo.reporting.learning_story import GuardStory, SkillStory, StepStory
from coevo.reporting.reading import number, take
from coevo.reporting.story import (
    BatchStory,
    BudgetStory,
    ChildStory,
    Fate,
    GenerationStory,
    OperatorUse,
)
from coevo.searching.metering import Meter, is_new_best, meter_of


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
        answers: Texts of the completions by name, where there is any.
        start: Candidates that were judged before anything was asked: the user's own.
        judged: Verdicts by candidate, then split, on the run's own candidates.
        measured: The same of the yardsticks from the problem's folder.
        references: Mean best-known objective by split, for those that have one.
        baselines: Identities of the problem's baselines, by name.
        textbook: Mean objectives of its textbook algorithms, by name and split; None where one failed.
    """

    def __init__(self, charges_first: bool):
        self._charges_first = charges_first
        self.started: Event = {}
        self.finished: Event = {}
        self.children: list[ChildStory] = []
        self.origins: dict[str, ChildStory] = {}
        self.start: set[str] = set()
        self.judged: dict[str, dict[str, Verdict]] = defaultdict(dict)
        self.measured: dict[str, dict[str, Verdict]] = defaultdict(dict)
        self.references: dict[str, float] = {}
        self.baselines: dict[str, str] = {}
        self.textbook: dict[str, dict[str, float | None]] = {}
        self.improvements: list[tuple[int, Verdict]] = []
        self._best: float | None = None
        self.steps: list[StepStory] = []
        self.guards: list[GuardStory] = []
        self.skills: list[SkillStory] = []
        self.fingerprint = ""
        self.resumed = 0
        self.hours = 0.0
        self.cpu_s = 0.0
        self.answers: dict[str, str] = {}
        self._counts = Counts()
        self._has_asked = False
        self._meters: Counter[Meter] = Counter()
        self._place = 0
        self._charges = True
        self._rewards: dict[tuple[int, str], float | None] = {}
        self._ends: dict[int, tuple[float | None, float | None]] = {}
        self._time: float | None = None
        self._handlers = {
            "started": self._take_start, "asked": self._take_asked, "completion": self._take_completion,
            "verdict": self._take_verdict, "child": self._take_child, "batch": self._take_batch,
            "step": self._take_step, "generation": self._take_generation, "finished": self._take_end,
            "guard": self._take_guard, "skill": self._take_skill, "textbook": self._take_textbook,
            RESUMED: self._take_resumed,
        }  # fmt: skip

    def take(self, event: Event) -> None:
        """Read one event.

        Raises:
            RunError: If it lacks what this version writes.
        """
        take(event, self._handlers, self._take_clock)

    def _take_clock(self, event: Event) -> None:
        if not (clock := event.get(CLOCK)) or (time := clock.get("time")) is None:
            return
        now = float(time)
        if self._time is not None and now > self._time and event["kind"] != RESUMED:
            self.hours += (now - self._time) / 3600
        self._time = now

    def _take_start(self, event: Event) -> None:
        self.started = event
        self.fingerprint = str(event["fingerprint"])
        self.references = {str(split): float(value) for split, value in event.get("references", {}).items()}
        self.baselines = {str(name): str(identity) for name, identity in event.get("baselines", {}).items()}

    def _take_asked(self, event: Event) -> None:
        operator, requests = str(event["operator"]), event["requests"]
        self._counts.ask(operator, [str(request["id"]) for request in requests])
        self._has_asked = True
        meter = meter_of(event, charges_first=self._charges_first)
        self._meters[meter] += len(requests)
        if meter != "skill":
            self._charges = meter == "operator"

    def _take_completion(self, event: Event) -> None:
        name = str(event["id"])
        if text := str(event["text"]):
            self.answers[name] = text
        self._counts.answer(name, int(event["tokens"]), is_cut_off=event["finish"] == "length")

    def _take_verdict(self, event: Event) -> None:
        verdict = Verdict(str(event["candidate"]), number(event["cost"]), number(event["objective"]))
        is_own, split = event["role"] == "candidate", str(event["split"])
        (self.judged if is_own else self.measured)[verdict.candidate].setdefault(split, verdict)
        self.cpu_s += float(event.get(CLOCK, {}).get("cpu_s", 0.0))
        if is_own and not self._has_asked:
            self.start.add(verdict.candidate)
        if is_new_best(event, self._best):
            self._best = verdict.cost
            # A verdict is recorded just before its child, so the child's place is the next one.
            self.improvements.append((self._place + 1 if self._has_asked and self._charges else 0, verdict))

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
            cost=number(event["cost"]),
            fate=self._fate(event),
        )
        self.children.append(child)
        self._counts.add(child)
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
        self._rewards[int(event["generation"]), str(event["operator"])] = number(event["reward"])

    def _take_step(self, event: Event) -> None:
        self.steps.append(step_of(event))
        self.fingerprint = str(event["fingerprint"])

    def _take_generation(self, event: Event) -> None:
        self._ends[int(event["generation"])] = (number(event["best"]), number(event["worst"]))

    def _take_end(self, event: Event) -> None:
        self.finished = event

    def _take_guard(self, event: Event) -> None:
        self.guards.append(guard_of(event))

    def _take_textbook(self, event: Event) -> None:
        objectives = {str(split): number(value) for split, value in event["objectives"].items()}
        self.textbook[str(event["name"])] = objectives

    def _take_skill(self, event: Event) -> None:
        self.skills.append(skill_of(event, self.skills[-1] if self.skills else None))

    def _take_resumed(self, event: Event) -> None:
        self.resumed += 1

    @property
    def budget(self) -> BudgetStory:
        """Completions by meter; what is planned follows from the first event."""
        planned = sum(sum(counts.values()) for counts in self.started.get("generations", ()))
        planned += int(self.started.get("first", 0)) if self._charges_first else 0
        return BudgetStory(self._meters["operator"], self._meters["on_top"], self._meters["skill"], planned)

    def batches(self) -> tuple[BatchStory, ...]:
        """The children of each operator in each generation, in order."""
        return self._counts.batches(self._rewards)

    def generations(self) -> tuple[GenerationStory, ...]:
        """Each generation's children, in order, with the population it left."""
        return self._counts.generations(self._ends)

    def operators(self) -> tuple[OperatorUse, ...]:
        """Where the completions went, by operator in order of first use."""
        return self._counts.operators()

    def failures(self) -> tuple[tuple[str, int], ...]:
        """Why children were not valid, most frequent reason first; equals in order of appearance."""
        return self._counts.failures()

    def operator_of(self, candidate: str) -> str:
        """Who wrote a program first: an operator, "start" for the user, or nothing where its child is not recorded."""
        origin = self.origins.get(candidate)
        return origin.operator if origin else "start" if candidate in self.start else ""
