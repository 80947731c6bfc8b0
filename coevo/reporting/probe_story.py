"""What a probe's events tell: its measurements, what its members did in each step, and how the model moved."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coevo.experiments.probe_config import ProbeConfig, probe_config_of
from coevo.experiments.probe_result import ProbeMeasurement
from coevo.records.event_log import RESUMED, Event, read_events
from coevo.records.run_directory import RunDirectory
from coevo.reporting.environment import read_environment
from coevo.reporting.learning import guard_of, step_of
from coevo.reporting.learning_story import GuardStory, StepStory
from coevo.reporting.reading import number, take


@dataclass(frozen=True, slots=True)
class Round:
    """The members' children of one step. `reward` is their mean, maximised; None where it is not recorded yet."""

    step: int
    children: int
    valid: int
    reward: float | None


@dataclass(frozen=True, slots=True)
class ProbeStory:
    """Everything a page shows of one probe.

    Attributes:
        name: Name of the run directory.
        status: "done"; before it "interrupted", as `result.json` says, or "unfinished".
        fingerprints: Of the unperturbed weights, at the start and in the end.
        parents: Identities by set, "trained" and "held_out"; empty while they are not settled.
        scale: Spread of the parents' costs, in which rewards are measured; None likewise.
        spent: Completions asked for, by purpose.
        config: The text of `config.toml`.
    """

    name: str
    problem: str
    status: str
    version: str
    settings: ProbeConfig
    config: str
    environment: Mapping[str, Any]
    fingerprints: tuple[str, str]
    parents: Mapping[str, tuple[str, ...]]
    scale: float | None
    measurements: tuple[ProbeMeasurement, ...]
    rounds: tuple[Round, ...]
    steps: tuple[StepStory, ...]
    guards: tuple[GuardStory, ...]
    spent: Mapping[str, int]
    resumed: int

    def measured(self, when: str, parents: str) -> ProbeMeasurement | None:
        """The last measurement of a kind, if there is one."""
        found = [each for each in self.measurements if (each.when, each.parents) == (when, parents)]
        return found[-1] if found else None


def tell_probe(path: Path) -> ProbeStory:
    """What a probe's events tell, finished or not.

    Raises:
        RunError: If `path` is not the run directory of a probe, or its log was edited or written by another version.
    """
    directory, settings = RunDirectory.open(path), probe_config_of(path)
    journal = _Journal()
    for event in read_events(directory.events) if directory.events.exists() else ():
        journal.take(event)
    return ProbeStory(
        name=directory.path.resolve().name,
        problem=str(journal.started.get("problem") or Path(settings.problem).name),
        status=_status(directory, journal),
        version=str(journal.started.get("version", "")),
        settings=settings,
        config=(directory.path / "config.toml").read_text(errors="backslashreplace"),
        environment=read_environment(directory.path),
        fingerprints=(str(journal.started.get("fingerprint", "")), journal.fingerprint),
        parents=journal.parents,
        scale=journal.scale,
        measurements=tuple(journal.measurements),
        rounds=journal.rounds(),
        steps=tuple(journal.steps),
        guards=tuple(journal.guards),
        spent=journal.spent,
        resumed=journal.resumed,
    )


def _status(directory: RunDirectory, journal: "_Journal") -> str:
    if journal.finished:
        return str(journal.finished["status"])
    result = directory.result() or {}
    return "interrupted" if result.get("status") == "interrupted" else "unfinished"


class _Journal:
    """Gathers the facts of a probe from its events, in order."""

    def __init__(self) -> None:
        self.started: Event = {}
        self.finished: Event = {}
        self.fingerprint = ""
        self.parents: dict[str, tuple[str, ...]] = {}
        self.scale: float | None = None
        self.measurements: list[ProbeMeasurement] = []
        self.steps: list[StepStory] = []
        self.guards: list[GuardStory] = []
        self.spent: Counter[str] = Counter()
        self.resumed = 0
        self._purposes: dict[int, str] = {}
        self._steps: dict[int, int] = {}
        self._children: dict[int, list[bool]] = defaultdict(list)
        self._rewards: dict[int, float | None] = {}

    def take(self, event: Event) -> None:
        """Read one event.

        Raises:
            RunError: If it lacks what this version writes.
        """
        take(event, {
            "started": self._take_start, "parents": self._take_parents, "round": self._take_round,
            "asked": self._take_asked, "child": self._take_child, "batch": self._take_batch,
            "probe": self._take_measurement, "step": self._take_step, "finished": self._take_end,
            "guard": lambda event: self.guards.append(guard_of(event)), RESUMED: self._take_resumed,
        })  # fmt: skip

    def rounds(self) -> tuple[Round, ...]:
        """The steps that have children, in order."""
        return tuple(
            Round(step, len(valid), sum(valid), self._rewards.get(step)) for step, valid in self._children.items()
        )

    def _take_start(self, event: Event) -> None:
        self.started = event
        self.fingerprint = str(event["fingerprint"])

    def _take_parents(self, event: Event) -> None:
        self.parents = {name: tuple(map(str, event[name])) for name in ("trained", "held_out")}
        self.scale = float(event["scale"])

    def _take_round(self, event: Event) -> None:
        place, purpose = int(event["generation"]), str(event["purpose"])
        self._purposes[place] = purpose
        if purpose == "training":
            self._steps[place] = int(event["step"])

    def _take_asked(self, event: Event) -> None:
        self.spent[self._purposes[int(event["generation"])]] += len(event["requests"])

    def _take_child(self, event: Event) -> None:
        if (step := self._steps.get(int(event["generation"]))) is not None:
            self._children[step].append(event["cost"] is not None)

    def _take_batch(self, event: Event) -> None:
        """The batch of the last round; only training has one."""
        self._rewards[list(self._steps.values())[-1]] = number(event["reward"])

    def _take_measurement(self, event: Event) -> None:
        self.measurements.append(ProbeMeasurement(**{name: event[name] for name in ProbeMeasurement.model_fields}))

    def _take_step(self, event: Event) -> None:
        self.steps.append(step_of(event))
        self.fingerprint = str(event["fingerprint"])

    def _take_end(self, event: Event) -> None:
        self.finished = event

    def _take_resumed(self, event: Event) -> None:
        self.resumed += 1
