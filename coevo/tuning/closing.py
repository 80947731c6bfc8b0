"""What a tuning run's own events say at its end: every number of a result is gathered from them."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from coevo.learning.asking import SKILL_METER
from coevo.records.event_log import Event, read_events
from coevo.records.run_directory import RunDirectory
from coevo.tuning.config import TRAIN, TuneConfig
from coevo.tuning.result import Measured

_MEASURED = tuple(Measured.model_fields)


class Tally:
    """Numbers of a run, gathered from its events in order."""

    def __init__(self) -> None:
        self.spent: Counter[str] = Counter()
        self.by_generation: dict[int, dict[str, dict[str, Any]]] = {}
        self.chosen: Event | None = None
        self.chosen_splits: dict[str, dict[str, Any]] = {}
        self.dropped = self.generations = 0
        self.fingerprint = ""
        self._trains = False

    def take(self, event: Event) -> None:
        """Count one event."""
        handler = getattr(self, f"_on_{event['kind']}", None)
        if handler is not None:
            handler(event)

    def _on_started(self, event: Event) -> None:
        self.fingerprint = event["fingerprint"]

    def _on_step(self, event: Event) -> None:
        self.fingerprint = event["fingerprint"]

    _on_gradient = _on_step

    def _on_playing(self, event: Event) -> None:
        self._trains = event["purpose"] == TRAIN

    def _on_episode(self, event: Event) -> None:
        self.spent["episodes" if self._trains else "measuring"] += 1
        self.spent["turns"] += event["turns"]
        self.spent["tokens"] += event["tokens"] + event.get("lost", 0)

    def _on_asked(self, event: Event) -> None:
        if event["operator"] == SKILL_METER:
            self.spent["skill"] += len(event["requests"])

    def _on_played(self, event: Event) -> None:
        self.dropped += len(event["dropped"])

    def _on_measured(self, event: Event) -> None:
        facts = {name: event[name] for name in _MEASURED}
        if event["label"]:
            self.chosen_splits[event["split"]] = facts
        else:
            self.by_generation.setdefault(event["generation"], {})[event["split"]] = facts

    def _on_chosen(self, event: Event) -> None:
        self.chosen = event

    def _on_generation(self, event: Event) -> None:
        self.generations = event["generation"]


def tally_of(events: Iterable[Event]) -> Tally:
    """The numbers of a run."""
    tally = Tally()
    for event in events:
        tally.take(event)
    return tally


def closing(directory: RunDirectory, config: TuneConfig, val: str) -> dict[str, Any]:
    """The part of a result that an interrupted run has too."""
    tally = tally_of(read_events(directory.events))
    best, chosen = None, {}
    if tally.chosen is not None:
        best = {key: tally.chosen[key] for key in ("generation", "mean", "fingerprint")}
        chosen = {val: tally.by_generation[tally.chosen["generation"]][val], **tally.chosen_splits}
    spent = {name: tally.spent[name] for name in ("episodes", "turns", "tokens", "measuring", "skill")}
    return {
        "best": best,
        "generations": tally.generations,
        "start": tally.by_generation.get(0, {}),
        "chosen": chosen,
        "spent": {**spent, "planned": config.episodes},
        "dropped": tally.dropped,
        "fingerprint": tally.fingerprint,
    }
