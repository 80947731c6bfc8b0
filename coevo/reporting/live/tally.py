"""The few numbers of a run that a list of runs shows, and its curves beside those of others: kept event by event.

They follow the rules of the run's own page (`searching/metering.py`), at a small part of what its story costs.
"""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from coevo.experiments.probe_config import probe_config_of
from coevo.records.event_log import Event
from coevo.records.run_directory import RunDirectory
from coevo.reporting.ending import Yardstick, sense_of
from coevo.reporting.journal import Verdict
from coevo.reporting.reading import number, take
from coevo.searching.api import config_of
from coevo.searching.metering import is_new_best, meter_of, search_cost
from coevo.tuning.config import TRAIN, VAL, tune_config_of

Curve = list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come.

    Attributes:
        kind: "search", "tune", "probe" or what its configuration says.
        subject: Its problem or environment.
        status: As the last event says; empty before it.
        spent: Of the budget, in units of `unit`.
        planned: The budget; None where it is not known.
        score: Best objective or score so far; None while there is none.
        score_name: What that is, with its direction.
        gap: To the best known objective, as a fraction; None where that has no meaning.
    """

    kind: str
    subject: str
    status: str
    spent: int
    planned: int | None
    unit: str
    score: float | None
    score_name: str
    gap: float | None


class Tally(Protocol):
    """Numbers and curves of one run.

    Attributes:
        curves: By name: points of charged completions or generations, and values. "best" holds until its next point.
        passed_over: Kinds of events that it needs not see.
    """

    curves: dict[str, Curve]
    passed_over: frozenset[str]

    def take(self, event: Event) -> None:
        """Read one event."""

    def progress(self) -> Progress:
        """The numbers now."""


def tally_for(run: Path) -> Tally:
    """An empty tally for a run of any kind.

    Raises:
        RunError: If it is not the directory of a run, or its configuration does not fit this version.
    """
    kind = str(RunDirectory.open(run).config().get("kind", ""))
    if kind == "":
        config = config_of(run)
        return SearchTally(Path(config.problem).name, charges_first=config.charge_first)
    if kind == "tune":
        settings = tune_config_of(run)
        return TuneTally(Path(settings.env).name, settings.episodes)
    if kind == "probe":
        probe = probe_config_of(run)
        return ProbeTally(Path(probe.problem).name, probe.training)
    return PlayTally(kind, str(RunDirectory.open(run).config().get("env", "")))


class SearchTally:
    """Of a search: best objective and gap against the charged completions."""

    passed_over = frozenset({"completion", "step", "batch", "skill", "generation", "guard", "textbook"})

    def __init__(self, problem: str, *, charges_first: bool):
        self._problem = problem
        self._charges_first = charges_first
        self._references: dict[str, float] = {}
        self._spent = self._planned = self._place = 0
        self._charges = False
        self._status = ""
        self._best: Verdict | None = None
        self._objectives: dict[str, float | None] = {}
        self._chosen: float | None = None
        self.curves: dict[str, Curve] = {"best": [], "gap": []}
        self._handlers = {
            "started": self._take_start, "asked": self._take_asked, "verdict": self._take_verdict,
            "child": self._take_child, "finished": self._take_end,
        }  # fmt: skip

    def take(self, event: Event) -> None:
        """Read one event.

        Raises:
            RunError: If it lacks what this version writes.
        """
        take(event, self._handlers)

    def _take_start(self, event: Event) -> None:
        self._problem = str(event.get("problem", self._problem))
        self._references = {str(split): float(value) for split, value in event.get("references", {}).items()}
        self._planned = sum(sum(counts.values()) for counts in event["generations"])
        self._planned += int(event["first"]) if self._charges_first else 0

    def _take_asked(self, event: Event) -> None:
        meter = meter_of(event, charges_first=self._charges_first)
        if meter != "skill":
            self._charges = meter == "operator"
        self._spent += len(event["requests"]) if meter == "operator" else 0

    def _take_child(self, event: Event) -> None:
        self._place += self._charges

    def _take_verdict(self, event: Event) -> None:
        if search_cost(event) is not None:
            self._objectives.setdefault(str(event["candidate"]), number(event["objective"]))
        if is_new_best(event, self._best.cost if self._best else None):
            self._best = Verdict(str(event["candidate"]), number(event["cost"]), number(event["objective"]))
            place = self._place + self._charges
            self.curves["best"].append((place, float(event["objective"])))
            if (gap := self._gap()) is not None:
                self.curves["gap"].append((place, gap))

    def _take_end(self, event: Event) -> None:
        self._status = str(event["status"])
        self._chosen = self._objectives.get(str(event["best"]))

    def _sense(self) -> Any:
        return (sense_of({"best": {"search": self._best}}) if self._best else None) or "min"

    def _score(self) -> float | None:
        """The chosen heuristic's objective or, before there is a choice, the best so far."""
        return self._chosen if self._chosen is not None else self._best.objective if self._best else None

    def _gap(self) -> float | None:
        return Yardstick(self._sense(), self._references).gap(self._score())

    def progress(self) -> Progress:
        """The numbers now."""
        direction = "minimised" if self._sense() == "min" else "maximised"
        name = f"objective ({direction})" if self._best else "objective"
        return Progress("search", self._problem, self._status, self._spent, self._planned or None, "completions",
                        self._score(), name, self._gap())  # fmt: skip


class TuneTally:
    """Of a tuning run: the score on `val`, and what training episodes score, against the generation."""

    passed_over = frozenset({"completion", "asked", "step", "skill", "generation"})

    def __init__(self, env: str, planned: int):
        self._env = env
        self._planned = planned
        self._spent = 0
        self._status = self._purpose = ""
        self.curves: dict[str, Curve] = defaultdict(list)
        self._handlers = {
            "started": self._take_start, "playing": self._take_playing, "episode": self._take_episode,
            "played": self._take_played, "measured": self._take_measured, "finished": self._take_end,
        }  # fmt: skip

    def take(self, event: Event) -> None:
        """Read one event.

        Raises:
            RunError: If it lacks what this version writes.
        """
        take(event, self._handlers)

    def _take_start(self, event: Event) -> None:
        self._env = str(event.get("env", self._env))

    def _take_playing(self, event: Event) -> None:
        self._purpose = str(event["purpose"]).partition(".")[0]

    def _take_episode(self, event: Event) -> None:
        self._spent += self._purpose == TRAIN

    def _take_played(self, event: Event) -> None:
        self._note("training", event)

    def _take_measured(self, event: Event) -> None:
        if event["split"] == VAL and not event["label"]:
            self._note(VAL, event)

    def _note(self, curve: str, event: Event) -> None:
        if (mean := number(event["mean"])) is not None:
            self.curves[curve].append((int(event["generation"]), mean))

    def _take_end(self, event: Event) -> None:
        self._status = str(event["status"])

    def progress(self) -> Progress:
        """The numbers now."""
        best = max((score for _, score in self.curves[VAL]), default=None)
        return Progress("tune", self._env, self._status, self._spent, self._planned, "episodes", best,
                        "score on val (maximised)", None)  # fmt: skip


class ProbeTally:
    """Of a probe: the change of the reward on held-out parents."""

    passed_over = frozenset({"completion", "verdict", "child", "batch", "step", "guard"})

    def __init__(self, problem: str, planned: int):
        self._problem = problem
        self._planned = planned
        self._spent = 0
        self._status = self._purpose = ""
        self._change: float | None = None
        self.curves: dict[str, Curve] = defaultdict(list)
        self._handlers = {
            "started": self._take_start, "round": self._take_round, "asked": self._take_asked,
            "probe": self._take_measurement, "finished": self._take_end,
        }  # fmt: skip

    def take(self, event: Event) -> None:
        """Read one event.

        Raises:
            RunError: If it lacks what this version writes.
        """
        take(event, self._handlers)

    def _take_start(self, event: Event) -> None:
        self._problem = str(event.get("problem", self._problem))

    def _take_round(self, event: Event) -> None:
        self._purpose = str(event["purpose"])

    def _take_asked(self, event: Event) -> None:
        self._spent += len(event["requests"]) if self._purpose == "training" else 0

    def _take_measurement(self, event: Event) -> None:
        if event["when"] != "fresh":
            self.curves[str(event["parents"])].append((int(event["step"]), float(event["reward"])))
        if (event["when"], event["parents"]) == ("after", "held_out"):
            self._change = number(event["change"])

    def _take_end(self, event: Event) -> None:
        self._status = str(event["status"])

    def progress(self) -> Progress:
        """The numbers now."""
        return Progress("probe", self._problem, self._status, self._spent, self._planned, "completions", self._change,
                        "change on held-out parents (maximised)", None)  # fmt: skip


class PlayTally:
    """Of a run that plays and does not train: how many episodes it has played."""

    passed_over = frozenset({"completion", "asked"})

    def __init__(self, kind: str, env: str):
        self._kind = kind
        self._env = Path(env).name
        self._episodes = 0
        self._status = ""
        self.curves: dict[str, Curve] = {}
        self._handlers = {"episode": self._take_episode, "finished": self._take_end}

    def take(self, event: Event) -> None:
        """Read one event.

        Raises:
            RunError: If it lacks what this version writes.
        """
        take(event, self._handlers)

    def _take_episode(self, event: Event) -> None:
        self._episodes += 1

    def _take_end(self, event: Event) -> None:
        self._status = str(event["status"])

    def progress(self) -> Progress:
        """The numbers now."""
        return Progress(self._kind, self._env, self._status, self._episodes, None, "episodes", None, "", None)
