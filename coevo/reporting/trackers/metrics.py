"""From events to numbers that a tracker can draw: pure, for searches and for tuning runs alike.

Only what an event says becomes a number; sums (completions asked, tokens paid for) are sums of events.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from coevo.records.event_log import ASIDE, ENDING, Event
from coevo.searching.metering import is_new_best, meter_of

Reading = tuple[int, dict[str, float]]
"""A step (the generation) and its numbers, by name; steps never go back."""

_CLOSES = frozenset({"generation", "measured", "finished"})
"""Events after which what has come together is one reading."""


class Reader:
    """Reads events one by one.

    Args:
        charges_first: Whether the first population of a search counts towards its budget.
    """

    def __init__(self, *, charges_first: bool = True) -> None:
        self._charges_first = charges_first
        self._sums: Counter[str] = Counter()
        self._pending: dict[str, float] = {}
        self._best: float | None = None
        self._step = 0

    def take(self, event: Event) -> Reading | None:
        """Read one event; the numbers that have come together, where it closes a generation or a measurement."""
        if event.get(ASIDE) == ENDING and event["kind"] != "finished":
            return None
        self._step = max(self._step, event.get("generation") or 0)
        for name, value in self._numbers(event).items():
            if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
                self._pending[name] = float(value)
        if event["kind"] not in _CLOSES or not self._pending:
            return None
        reading, self._pending = self._pending, {}
        return self._step, reading

    def _numbers(self, event: Event) -> Mapping[str, Any]:
        handler = getattr(self, f"_of_{event['kind']}", None)
        return {} if handler is None else handler(event)

    def _of_asked(self, event: Event) -> Mapping[str, Any]:
        return self._summed({f"asked/{meter_of(event, charges_first=self._charges_first)}": len(event["requests"])})

    def _of_spent(self, event: Event) -> Mapping[str, Any]:
        role = event["role"]
        return self._summed(
            {
                f"paid/{role}/tokens_in": event["prompt_tokens"],
                f"paid/{role}/tokens_out": event["completion_tokens"],
                f"paid/{role}/calls": 1,
            }
        )

    def _of_verdict(self, event: Event) -> Mapping[str, Any]:
        if not is_new_best(event, self._best):
            return {}
        self._best = event["cost"]
        return {"best/cost": event["cost"], "best/objective": event["objective"]}

    def _of_batch(self, event: Event) -> Mapping[str, Any]:
        return {f"{event['operator']}/{key}": event[key] for key in ("children", "valid", "distinct", "reward")}

    def _of_generation(self, event: Event) -> Mapping[str, Any]:
        return {f"population/{key}": event[key] for key in ("best", "worst") if "worst" in event}

    def _of_step(self, event: Event) -> Mapping[str, Any]:
        rewards = event["rewards"]
        return {"es/sigma": event["sigma"], "es/reward": math.fsum(rewards) / len(rewards) if rewards else None}

    def _of_guard(self, event: Event) -> Mapping[str, Any]:
        return {"guard/scale": event["scale"], "guard/valid": event["valid"]}

    def _of_played(self, event: Event) -> Mapping[str, Any]:
        return {f"train/{key}": value for key, value in event.items() if key not in ("generation", "kind")}

    def _of_measured(self, event: Event) -> Mapping[str, Any]:
        where = f"{event['split']}{event['label'].replace('.', '_')}"
        return {f"{where}/{key}": value for key, value in event.items() if key not in ("generation", "kind")}

    def _summed(self, more: Mapping[str, int]) -> Mapping[str, float]:
        self._sums.update(more)
        return {name: self._sums[name] for name in more}


def readings(events: Iterable[Event], *, charges_first: bool = True) -> Iterator[Reading]:
    """The numbers of a run, in order.

    Args:
        events: Those of a search or a tuning run.
        charges_first: Whether the first population of a search counts towards its budget.
    """
    reader = Reader(charges_first=charges_first)
    for event in events:
        if (reading := reader.take(event)) is not None:
            yield reading
