"""What a search costs its own process for each candidate, where engines and judges cost nothing."""

import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from virtual_search import simulated_parts

from coevo.candidate import Evaluation
from coevo.engines.fleet.engine import FleetEngine
from coevo.engines.scripted import ScriptedEngine
from coevo.interfaces import Completion, Request
from coevo.records.event_log import Event
from coevo.searching.api import run_search
from coevo.searching.config import make_config


class AtOnce(ScriptedEngine):
    """Answers at once, each with a program of its own."""

    def __init__(self, function: str) -> None:
        super().__init__(["unused"])
        self._function = function

    def generate(self, requests: Sequence[Request]) -> Iterator[Completion]:
        """See `Engine`."""
        for request in requests:
            yield Completion(request.id, f"def {self._function}(*a):\n    return {request.seed}\n", "stop", 15)


class JudgeAtOnce:
    """Every program is worth what its digits say."""

    def __init__(self, brief: object) -> None:
        """Takes what a judge process takes."""

    def evaluate(self, code: str, split: str, part: object) -> Evaluation:
        """At once."""
        value = float(f"1.{sum(code.encode())}{len(code)}")
        return Evaluation("ok", "", value, value, (value,), 0.0)

    def start(self) -> None:
        """At once."""

    terminate = join = close = start


def controller_ms(budget: int, engines: int, judges: int, recipe: str) -> float:
    """CPU milliseconds of this process for each completion, with engines and judges that answer at once.

    Real threads, real files; from the first request to the end of the last generation.
    """
    values = {
        "problem": "tsp", "splits": ("search",), "engines": engines, "workers": judges, "budget": budget,
        "compare": False, "unsafe_no_sandbox": True, "engine": "scripted", "model": "at once",
    }  # fmt: skip
    marks: list[float] = []

    def mark(event: Event) -> None:
        if event["kind"] in ("started", "generation"):
            marks.append(time.process_time())

    def open_fleet(config: Any, problem: Any) -> FleetEngine:
        return FleetEngine([lambda: AtOnce(problem.spec.heuristic.function)] * config.engines)

    with tempfile.TemporaryDirectory() as folder, simulated_parts(open_fleet, JudgeAtOnce):
        run_search(make_config(values, recipe), runs_dir=Path(folder), listeners=(mark,))
    return 1000 * (marks[-1] - marks[0]) / budget
