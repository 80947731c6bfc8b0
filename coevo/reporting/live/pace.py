"""Throughput: how much a run gets done per minute, over the time it was open."""

from coevo.records.event_log import CLOCK, RESUMED, Event
from coevo.reporting import tables
from coevo.reporting.axes import axis_for
from coevo.reporting.chart import Chart, Series, line_chart
from coevo.reporting.figures import Figure
from coevo.reporting.reading import Handlers, take
from coevo.reporting.tables import table
from coevo.reporting.text import number

_SPANS = 120
"""Spans of time that are kept; when they are full, each two become one of twice the length."""

_COUNTED = {"child": "candidates", "episode": "episodes", "point": "points"}
"""What is counted, by the event that says that one more is done."""

_WRITTEN = frozenset({"completion", "episode"})
"""Events that say how many tokens were written."""

_OTHERS: Handlers = {}
"""Beside the clock of every event, no kind has anything of its own."""


class Pace:
    """Counts over spans of equal length, in seconds since the first event, pauses before a resume left out."""

    def __init__(self) -> None:
        self._span_s = 1.0
        self._counts: dict[str, list[int]] = {}
        self._tokens: list[int] = [0]
        self._open_s = 0.0
        self._time: float | None = None

    def take(self, event: Event) -> None:
        """Read one event.

        Raises:
            RunError: If it lacks what this version writes.
        """
        take(event, _OTHERS, self._take)

    def _take(self, event: Event) -> None:
        kind = event["kind"]
        clock = event.get(CLOCK)
        if clock and (time := clock.get("time")) is not None:
            now = float(time)
            if self._time is not None and now > self._time and kind != RESUMED:
                self._open_s += now - self._time
                if self._open_s >= self._span_s * _SPANS:
                    self._widen()
            self._time = now
        if name := _COUNTED.get(kind):
            _add(self._counts.setdefault(name, []), int(self._open_s / self._span_s), 1)
        if kind in _WRITTEN:
            _add(self._tokens, int(self._open_s / self._span_s), int(event["tokens"]))

    def _widen(self) -> None:
        while self._open_s >= self._span_s * _SPANS:
            self._span_s *= 2
            self._counts = {name: _halved(counts) for name, counts in self._counts.items()}
            self._tokens = _halved(self._tokens)

    def figures(self) -> list[Figure]:
        """Things done per minute, and tokens per second; none before there is something to divide."""
        if self._open_s <= 0:
            return []
        made = [self._figure(f"pace-{name}", name, counts, 60.0, "minute") for name, counts in self._counts.items()]
        return (
            [*made, self._figure("pace-tokens", "tokens", self._tokens, 1.0, "second")] if any(self._tokens) else made
        )

    def _figure(self, key: str, name: str, counts: list[int], unit_s: float, unit: str) -> Figure:
        filled = [*counts, *[0] * (int(self._open_s / self._span_s) + 1 - len(counts))]
        ends = [min((place + 1) * self._span_s, self._open_s) for place in range(len(filled))]
        lengths = [end - place * self._span_s for place, end in enumerate(ends)]
        # A last span that has hardly begun would be a number over almost nothing.
        kept = [place for place, length in enumerate(lengths) if length >= self._span_s / 2 or len(filled) == 1]
        xs = [ends[place] / 60 for place in kept]
        ys = [filled[place] / lengths[place] * unit_s for place in kept]
        mean = sum(filled) / self._open_s * unit_s
        title = f"{name.capitalize()} per {unit}"
        x = axis_for("minutes open", xs, floor=0.0, show=lambda value: number(value, 3))
        y = axis_for(f"{name} per {unit}", ys, floor=0.0, show=lambda value: number(value, 3))
        description = f"{number(mean, 3)} per {unit} on average; in the end {number(ys[-1], 3)}."
        drawing = line_chart(Chart(title, description, x, y, (Series(name, xs, ys),), labelled=False))
        caption = f"In spans of {number(self._span_s, 4)} s of the time the run was open. {description}"
        rows = ((tables.real(at, 4), tables.real(rate, 4)) for at, rate in zip(xs, ys, strict=True))
        return Figure(key, title, caption, drawing, table(title, ("minutes open", f"per {unit}"), rows))


def _add(counts: list[int], place: int, amount: int) -> None:
    if place >= len(counts):
        counts.extend([0] * (place + 1 - len(counts)))
    counts[place] += amount


def _halved(counts: list[int]) -> list[int]:
    return [sum(counts[place : place + 2]) for place in range(0, len(counts), 2)]
