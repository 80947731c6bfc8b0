"""What a run's events say its `result.json` must hold.

Every number of a result is computed here anew, from verdicts, charges and the references that the run recorded when it
started. Neither the problem's folder nor the model is needed, so a result can be checked wherever its events are. Left
out are `wall_s` and `run`, which depend on the clock and on where the run lies.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coevo.engines.endpoint.spending import SENT, SPENT
from coevo.errors import RunError
from coevo.evaluation.fresh_seeds import parse_split
from coevo.experiments.flattening import dotted
from coevo.learning.paying import paid
from coevo.records.event_log import Event
from coevo.searching.closing import Tally
from coevo.searching.config import SearchConfig
from coevo.searching.finish import Row, summarised
from coevo.searching.result import SearchResult, SplitResult, gap

NOTHING = "nothing"


@dataclass
class Evidence:
    """What a run's events add up to; `take` is called with each of them, in order.

    Attributes:
        tally: What a result has of the events as they go.
        verdicts: The verdict on each candidate or baseline, by identity and split.
        textbook: Mean objective of textbook algorithms by name and split.
        finished: The last event of a run that came to its end.
        payments: Notes of what servers were sent and paid.
    """

    tally: Tally
    started: Event = field(default_factory=dict)
    verdicts: dict[tuple[str, str], Event] = field(default_factory=dict)
    textbook: dict[str, Any] = field(default_factory=dict)
    finished: Event | None = None
    payments: list[Event] = field(default_factory=list)

    def take(self, event: Event) -> None:
        """Add one event."""
        self.tally.take(event)
        if event["kind"] == "started":
            self.started = event
        elif event["kind"] == "verdict":
            self.verdicts[event["candidate"], event["split"]] = event
        elif event["kind"] == "textbook":
            self.textbook[event["name"]] = event["objectives"]
        elif event["kind"] == "finished":
            self.finished = event
        elif event["kind"] in (SENT, SPENT):
            self.payments.append(event)

    def check(self, file: Path, result: SearchResult, config: SearchConfig) -> None:
        """Refuse a result that the events do not support; that of an interrupted run is passed over.

        Raises:
            RunError: Naming the file, the first value that does not follow, and what the events say.
        """
        if result.status == "interrupted":  # a snapshot: the run may have gone on since and been killed
            return
        if self.finished is None:
            raise RunError(f"{file}: expected no result of a run whose events do not end, got status {result.status}")
        found = _values(self._result(self.finished, result, config))
        said = _values(result)
        for name in dict.fromkeys([*found, *said]):
            if found.get(name, NOTHING) != said.get(name, NOTHING):
                raise RunError(
                    f"{file}: expected {name} = {found.get(name, NOTHING)}, as the run's events say, got "
                    f"{said.get(name, NOTHING)}; one of the two files was edited"
                )

    def _result(self, finished: Event, result: SearchResult, config: SearchConfig) -> SearchResult:
        tally, best = self.tally, finished["best"]
        splits = () if best is None else config.splits or self._measured_on(best)
        keys = ("candidate", "cost", "objective")
        meters = {"operator": tally.asked, "on_top": tally.on_top, "skill": tally.skill}
        return SearchResult.model_validate(
            {
                "status": finished["status"],
                "best": None if best is None else {key: self.verdicts[best, "search"][key] for key in keys},
                # A result of an earlier version lacks some of these.
                **{key: value for key, value in tally.progress().items() if key in result.model_fields_set},
                "explanation": tally.explanation(),
                "splits": {split: self._with_gap(split, self._measured(best, split)) for split in splits},
                "comparisons": self._comparisons(splits) if config.compare and splits else {},
                "budget": {**meters, "planned": config.budget},
                "fingerprint": tally.fingerprint,
                "failures": tally.frequent_failures() if tally.best is None else (),
                "paid": paid(self.payments, config.allowance),
                "wall_s": result.wall_s,
                "run": result.run,
            }
        )

    def _measured_on(self, candidate: str) -> tuple[str, ...]:
        """A candidate's splits, those under fresh seeds by their own names."""
        return tuple(dict.fromkeys(parse_split(split)[0] for identity, split in self.verdicts if identity == candidate))

    def _measured(self, candidate: str, split: str, most: int | None = None) -> SplitResult:
        """A candidate's mean on a split: over at most so many fresh seeds if it was measured under any."""
        return summarised(self._objectives(candidate, split)[:most])

    def _objectives(self, candidate: str, split: str) -> Sequence[float | None]:
        own = {parse_split(name): event for (identity, name), event in self.verdicts.items() if identity == candidate}
        draws = [own[name, draw]["objective"] for name, draw in sorted(own) if name == split and draw > 0]
        return draws or [own[split, 0]["objective"]]

    def _comparisons(self, splits: Sequence[str]) -> dict[str, Row]:
        baselines = {
            name: {split: self._measured(identity, split, 1) for split in splits}
            for name, identity in self.started["baselines"].items()
        }
        textbook = {
            name: {split: SplitResult(objective=means[split], gap=None) for split in splits}
            for name, means in self.textbook.items()
        }
        return {
            name: {split: self._with_gap(split, value) for split, value in row.items()}
            for name, row in (baselines | textbook).items()
        }

    def _with_gap(self, split: str, value: SplitResult) -> SplitResult:
        """Fraction by which a mean is worse than the mean best-known objective; None where none is known."""
        reference = self.started["references"].get(split)
        return value.model_copy(update={"gap": gap(self._sign(), value.objective, reference)})

    def _sign(self) -> float:
        """+1 if the objective is minimised, −1 if maximised: what turns it into a cost."""
        costs = ((event["cost"], event["objective"]) for event in self.verdicts.values())
        return next((cost / objective for cost, objective in costs if cost is not None and objective), 1.0)


def _values(result: SearchResult) -> dict[str, Any]:
    return dotted(result.model_dump(mode="json", exclude={"wall_s", "run"}))
