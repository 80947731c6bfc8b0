"""What the events of a tuning run add up to, whoever reads them: its result, its page, its progress."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from coevo.learning.asking import SKILL_METER
from coevo.records.event_log import Event
from coevo.tuning.config import TRAIN
from coevo.tuning.result import Measured

_MEASURED = tuple(Measured.model_fields)


class Tally:
    """Numbers of a run, gathered from its events in order.

    Attributes:
        spent: "episodes" of training, those of "measuring", their "turns" and "tokens" together, and completions for
            the "skill".
        by_generation: Generation -> split -> what the unperturbed model was measured at.
        chosen: The event that names the chosen weights; None while there is no choice.
        chosen_splits: What these were measured at in the end.
        dropped: Tasks left out for all members, over all generations.
        generations: The last one that was closed.
        fingerprint: Of the unperturbed weights.
    """

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
