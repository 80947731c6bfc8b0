"""What the events of a tuning run tell: measurements, generations, how the model moved, and some conversations."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coevo.records.event_log import CLOCK, RESUMED, Event, read_events
from coevo.records.run_directory import RunDirectory
from coevo.reporting.environment import read_environment
from coevo.reporting.learning import skill_of, step_of
from coevo.reporting.learning_story import GuardStory, SkillStory, StepStory
from coevo.reporting.reading import number, take
from coevo.tuning.config import TuneConfig, tune_config_of
from coevo.tuning.episodes import Episode, past_episodes
from coevo.tuning.result import Measured
from coevo.tuning.tally import Tally


@dataclass(frozen=True, slots=True)
class Measurement:
    """The unperturbed model on one split after a generation; `is_chosen` for those of the chosen weights at the end."""

    generation: int
    split: str
    is_chosen: bool
    found: Measured


@dataclass(frozen=True, slots=True)
class Generation:
    """The training episodes of one generation: of all its members together; `dropped` are tasks."""

    generation: int
    dropped: tuple[str, ...]
    found: Measured


@dataclass(frozen=True, slots=True)
class Gradient:
    """What a baseline learned in a generation: means over its updates of the loss, of the divergence, of the norm."""

    generation: int
    loss: float
    kl: float
    norm: float
    updates: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """A recorded episode; `purpose` is "train" or the split that it measured."""

    generation: int
    purpose: str
    episode: Episode


@dataclass(frozen=True, slots=True)
class TuneStory:
    """Everything a page shows of one tuning run.

    Attributes:
        name: Name of the run directory.
        status: As the last event says; before it "interrupted", as `result.json` says, or "unfinished".
        fingerprints: Of the unperturbed weights, at the start and in the end.
        chosen: Generation of the weights that `val` chose; None while there is no choice.
        ended: By purpose: why episodes were over, and how often.
        spent: As a `Tally` counts: episodes, those to measure, turns, tokens and completions for the skill.
        hours: Between the first and the last event, without pauses.
    """

    name: str
    env: str
    status: str
    version: str
    settings: TuneConfig
    config: str
    environment: Mapping[str, Any]
    fingerprints: tuple[str, str]
    chosen: int | None
    measurements: tuple[Measurement, ...]
    generations: tuple[Generation, ...]
    steps: tuple[StepStory, ...]
    gradients: tuple[Gradient, ...]
    skills: tuple[SkillStory, ...]
    conversations: tuple[Conversation, ...]
    ended: Mapping[str, Mapping[str, int]]
    spent: Mapping[str, int]
    hours: float
    resumed: int

    @property
    def guards(self) -> tuple[GuardStory, ...]:
        """None: tuning has no guard."""
        return ()

    def on(self, split: str) -> tuple[Measurement, ...]:
        """The measurements on a split in the course of the run."""
        return tuple(each for each in self.measurements if each.split == split and not each.is_chosen)


def tell_tuning(path: Path) -> TuneStory:
    """What a tuning run's events tell, finished or not.

    Raises:
        RunError: If `path` is not the directory of one, or its log was edited or written by another version.
    """
    directory, settings = RunDirectory.open(path), tune_config_of(path)
    events = list(read_events(directory.events)) if directory.events.exists() else []
    journal = _Journal(past_episodes(events))
    for event in events:
        journal.take(event)
    return TuneStory(
        name=directory.path.resolve().name,
        env=str(journal.started.get("env") or Path(settings.env).name),
        status=_status(directory, journal),
        version=str(journal.started.get("version", "")),
        settings=settings,
        config=(directory.path / "config.toml").read_text(errors="backslashreplace"),
        environment=read_environment(directory.path),
        fingerprints=(str(journal.started.get("fingerprint", "")), journal.tally.fingerprint),
        chosen=journal.chosen,
        measurements=tuple(journal.measurements),
        generations=tuple(journal.generations),
        steps=tuple(journal.steps),
        gradients=tuple(journal.gradients),
        skills=tuple(journal.skills),
        conversations=tuple(journal.conversations),
        ended=journal.ended,
        spent=journal.tally.spent,
        hours=journal.hours,
        resumed=journal.resumed,
    )


def _status(directory: RunDirectory, journal: "_Journal") -> str:
    if journal.finished:
        return str(journal.finished["status"])
    result = directory.result() or {}
    return "interrupted" if result.get("status") == "interrupted" else "unfinished"


class _Journal:
    """Gathers the facts of a tuning run from its events, in order."""

    def __init__(self, episodes: Mapping[str, Episode]) -> None:
        self._episodes = episodes
        self.started: Event = {}
        self.finished: Event = {}
        self.tally = Tally()
        self.chosen: int | None = None
        self.measurements: list[Measurement] = []
        self.generations: list[Generation] = []
        self.steps: list[StepStory] = []
        self.gradients: list[Gradient] = []
        self.skills: list[SkillStory] = []
        self.conversations: list[Conversation] = []
        self.ended: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.hours = 0.0
        self.resumed = 0
        self._playing = (0, "")
        self._time: float | None = None

    def take(self, event: Event) -> None:
        """Read one event.

        Raises:
            RunError: If it lacks what this version writes.
        """
        take(event, {
            "started": self._take_start, "playing": self._take_playing, "episode": self._take_episode,
            "played": self._take_played, "measured": self._take_measured, "step": self._take_step,
            "skill": self._take_skill, "chosen": self._take_chosen,
            "finished": self._take_end, "gradient": self._take_gradient, RESUMED: self._take_resumed,
        }, self._take_any)  # fmt: skip

    def _take_any(self, event: Event) -> None:
        self._take_clock(event)
        self.tally.take(event)

    def _take_clock(self, event: Event) -> None:
        now = number(event.get(CLOCK, {}).get("time"))
        if now is not None:
            if self._time is not None and event["kind"] != RESUMED:
                self.hours += max(0.0, now - self._time) / 3600
            self._time = now

    def _take_start(self, event: Event) -> None:
        self.started = event

    def _take_playing(self, event: Event) -> None:
        purpose = str(event["purpose"])
        self._playing = (int(event["generation"]), purpose.partition(".")[0])

    def _take_episode(self, event: Event) -> None:
        episode = self._episodes[str(event["id"])]
        generation, purpose = self._playing
        self.ended[purpose][episode.ended] += 1
        if episode.opening:
            self.conversations.append(Conversation(generation, purpose, episode))

    def _take_played(self, event: Event) -> None:
        dropped = tuple(map(str, event["dropped"]))
        self.generations.append(Generation(int(event["generation"]), dropped, _measured(event)))

    def _take_measured(self, event: Event) -> None:
        self.measurements.append(
            Measurement(int(event["generation"]), str(event["split"]), bool(event["label"]), _measured(event))
        )

    def _take_step(self, event: Event) -> None:
        self.steps.append(step_of(event))

    def _take_gradient(self, event: Event) -> None:
        self.gradients.append(
            Gradient(
                int(event["generation"]),
                float(event["loss"]),
                float(event["kl"]),
                float(event["grad_norm"]),
                int(event["updates"]),
            )
        )

    def _take_skill(self, event: Event) -> None:
        self.skills.append(skill_of(event, self.skills[-1] if self.skills else None))

    def _take_chosen(self, event: Event) -> None:
        self.chosen = int(event["generation"])

    def _take_end(self, event: Event) -> None:
        self.finished = event

    def _take_resumed(self, event: Event) -> None:
        self.resumed += 1


def _measured(event: Event) -> Measured:
    return Measured.model_validate({name: event[name] for name in Measured.model_fields})
