"""A whole search in a virtual world: the real loop, fleet and pool, with engines and judges that only let time pass.

What a request costs is drawn from recorded completions by a hash of its id and seed, so that it is the same whatever
the number of engines and judges, whoever serves it and when.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import groupby
from pathlib import Path
from statistics import mean
from typing import Any
from unittest.mock import patch

from virtual_primitives import virtual_world
from virtual_world import World

from coevo.candidate import Evaluation
from coevo.content import ProblemFolder
from coevo.engines.fleet import call, engine, seat
from coevo.engines.scripted import ScriptedEngine
from coevo.evaluation import pool
from coevo.interfaces import Completion, Engine, Request, Update
from coevo.learning.models import OpenModel
from coevo.records.event_log import Event
from coevo.searching import assemble, examiner
from coevo.searching.api import run_search
from coevo.searching.config import SearchConfig, make_config
from coevo.searching.result import SearchResult

MARK = "# {} tokens"
"""What a simulated program says of its own length, in tokens as they were recorded."""

NEAREST = 16
"""Recorded completions among which one is chosen."""

MODULES = (call, engine, seat, pool, examiner)
"""The scheduler: every module of a search that waits."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """What one completion costs.

    Attributes:
        tokens: Written.
        evaluation_s: None where nothing is evaluated: no program, or a known one.
        prompt: Characters that were read.
    """

    tokens: int
    evaluation_s: float | None
    prompt: int = 0


@dataclass(frozen=True, slots=True)
class Recorded:
    """A completion of a real search: who asked, the tokens of its parents together, and what it cost."""

    operator: str
    parents: int
    tokens: int
    evaluation_s: float | None


@dataclass(frozen=True)
class Times:
    """What completions cost, by those that were recorded.

    A completion is one of the `NEAREST` recorded ones of its operator whose parents were about as long, chosen by a
    hash, so that children resemble their parents in length as much as recorded ones did.

    Attributes:
        recorded: Completions of a real search.
        tokens_by: What tokens are multiplied with.
        power: Exponent of tokens, about their mean; above 1 the tail gets heavier and the order stays.
        evaluation_by: What the seconds of evaluations are multiplied with.
        drawn: What each request of this simulation cost so far, by its id.
    """

    recorded: tuple[Recorded, ...]
    tokens_by: float = 1.0
    power: float = 1.0
    evaluation_by: float = 1.0
    drawn: dict[str, Drawn] = field(default_factory=dict)

    @classmethod
    def from_file(cls, file: Path, **stretched: float) -> "Times":
        """Those of a file that `tests/benchmarks/record_times.py` wrote."""
        rows = json.loads(file.read_text())["completions"]
        return cls(tuple(Recorded(*row) for row in rows), **stretched)

    def of(self, request: Request) -> tuple[int, Drawn]:
        """The tokens of a request as they were recorded, and what it costs."""
        operator = request.id.split(".")[1]
        parents = sum(int(tokens) for tokens in re.findall(MARK.format(r"(\d+)"), request.text))
        own = [row for row in self.recorded if row.operator == operator]
        near = sorted(own, key=lambda row: abs(row.parents - parents))[:NEAREST] if parents else own
        row = near[number(request) % len(near)]
        seconds = None if row.evaluation_s is None else row.evaluation_s * self.evaluation_by
        cost = self.drawn[request.id] = Drawn(self._stretched(row.tokens), seconds, len(request.text))
        return row.tokens, cost

    @cached_property
    def _mean(self) -> float:
        return mean(row.tokens for row in self.recorded)

    def _stretched(self, tokens: int) -> int:
        return max(1, round(self.tokens_by * self._mean * (tokens / self._mean) ** self.power))


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast an engine with one slot is, in seconds.

    A batch reads its prompts and then writes one token of each row at a time; rows that are done leave it. Dense
    members follow one another, each with its own batch; the base and low-rank members share one.

    Attributes:
        switch_s: Weights become those of another dense member.
        read_s: A batch begins.
        step_s: One token of every row, whatever the number of rows.
        row_s: What each row adds to that.
        commit_s: An update.
    """

    switch_s: float
    read_s: float
    step_s: float
    row_s: float
    commit_s: float

    def ends(self, tokens: Sequence[int]) -> list[float]:
        """When each row of a batch is done, from the beginning of the batch; in order of their lengths."""
        at, written, found = self.read_s, 0, []
        for place, length in enumerate(sorted(tokens)):
            at += (length - written) * (self.step_s + self.row_s * (len(tokens) - place))
            written = length
            found.append(at)
        return found


class SimulatedEngine:
    """See `coevo.interfaces.Engine`: lets time pass, and answers with programs that name their cost.

    Args:
        world: Whose clock passes.
        times: What requests cost.
        pace: How fast it is.
        function: What the programs define.
    """

    def __init__(self, world: World, times: Times, pace: Pace, function: str) -> None:
        self._world, self._times, self._pace, self._function = world, times, pace, function
        self._weights = ScriptedEngine(["unused"])
        self._holds: object = None

    def generate(self, requests: Sequence[Request]) -> Iterator[Completion]:
        """See `Engine`; in each batch the shortest answer comes first."""
        served = sorted(requests, key=lambda request: _weights_of(request) or "")
        for owner, batch in groupby(served, key=_weights_of):
            if owner != self._holds:
                self._world.sleep(self._pace.switch_s)
                self._holds = owner
            yield from self._batch(list(batch))

    def _batch(self, batch: list[Request]) -> Iterator[Completion]:
        drawn = sorted(((*self._times.of(request), request) for request in batch), key=lambda each: each[1].tokens)
        ends = self._pace.ends([cost.tokens for _, cost, _ in drawn])
        began = self._world.now
        for (length, cost, request), end in zip(drawn, ends, strict=True):
            self._world.sleep(began + end - self._world.now)
            yield Completion(request.id, self._answer(request, length, cost), "stop", cost.tokens)

    def _answer(self, request: Request, length: int, cost: Drawn) -> str:
        if cost.evaluation_s is None:
            return "no program"
        value = 1 + number(request) % 9973 / 9973
        named = f"return {value}, {cost.evaluation_s}  # {request.id} {request.seed}"
        return f"def {self._function}(*a):\n    {named}\n    {MARK.format(length)} {'.' * 4 * length}\n"

    def commit(self, update: Update) -> int:
        """See `Engine`."""
        self._world.sleep(self._pace.commit_s)
        self._holds = None
        return self._weights.commit(update)

    def fingerprint(self) -> int:
        """See `Engine`."""
        return self._weights.fingerprint()

    def export(self, folder: Path) -> None:
        """See `Engine`."""
        self._weights.export(folder)

    def close(self) -> None:
        """See `Engine`."""


class SimulatedJudge:
    """In place of a `JudgeProcess`: lets the time pass that a program names, and says what it is worth."""

    world: World

    def __init__(self, brief: object) -> None:
        """Takes what a judge process takes."""

    def start(self) -> None:
        """At once."""

    def is_there(self) -> bool:
        """Always."""
        return True

    def evaluate(self, code: str, split: str, part: tuple[int, int] | None) -> Evaluation:
        """Every program is valid; one that names nothing costs nothing."""
        named = re.search(r"return ([\d.e-]+), ([\d.e-]+)  #", code)
        value, seconds = (float(named[1]), float(named[2])) if named else (9.0, 0.0)
        self.world.sleep(seconds)
        return Evaluation("ok", "", value, value, (value,), seconds)

    def terminate(self) -> None:
        """Nothing to end."""

    join = close = terminate


Wrap = Callable[[World, int, Engine], Engine]
"""Makes another engine of the one on a place, such as one that fails."""


@dataclass
class Simulation:
    """A search to simulate; `run` may be called once.

    Attributes:
        values: Of `SearchConfig`, beside engine and model; `engines` and `workers` are the engines and the judges.
        times: What requests cost.
        pace: How fast engines are.
        recipe: Published settings, if any.
        seed: Of the schedule, see `virtual_world`.
        traces: As there.
        wraps: What becomes of each engine.
        fleet: The engines as one, once the search runs.
    """

    values: Mapping[str, Any]
    times: Times
    pace: Pace
    recipe: str | None = None
    seed: int | None = None
    traces: bool = False
    wraps: Wrap = lambda world, place, made: made
    fleet: engine.FleetEngine = field(init=False)

    def run(self, runs_dir: Path, listen: Callable[[World, Event], None] = lambda world, event: None) -> SearchResult:
        """The result of the search; `listen` is called with the world and each event."""
        with virtual_world(*MODULES, seed=self.seed, traces=self.traces) as world:
            judge = type("Judge", (SimulatedJudge,), {"world": world})
            with simulated_parts(lambda config, problem: self._open(world, config, problem), judge):
                return run_search(self.config, runs_dir=runs_dir, listeners=(lambda event: listen(world, event),))

    @property
    def config(self) -> SearchConfig:
        """Of the search."""
        return make_config(
            {"compare": False, "unsafe_no_sandbox": True, "engine": "scripted", "model": "simulated", **self.values},
            self.recipe,
        )

    def _open(self, world: World, config: SearchConfig, problem: ProblemFolder) -> Engine:
        def opener(place: int) -> Engine:
            made = SimulatedEngine(world, self.times, self.pace, problem.spec.heuristic.function)
            return self.wraps(world, place, made)

        self.fleet = engine.FleetEngine([partial(opener, place) for place in range(config.engines)])
        return self.fleet


@contextmanager
def simulated_parts(open_engine: Callable[[SearchConfig, ProblemFolder], Engine], judge: type) -> Iterator[None]:
    """Searches that are assembled inside the block have this engine and such judges; best known values are left out."""

    def start_model(config: SearchConfig, problem: ProblemFolder) -> OpenModel:
        return OpenModel(open_engine(config, problem), "plain")

    with ExitStack() as stack:
        stack.enter_context(patch.object(assemble, "start_model", start_model))
        stack.enter_context(patch.object(assemble, "reference_means", lambda problem, splits: {}))
        stack.enter_context(patch.object(pool, "JudgeProcess", judge))
        yield


def number(request: Request) -> int:
    """A number that follows from a request's id and seed."""
    return int.from_bytes(hashlib.blake2b(f"{request.id}\0{request.seed}".encode(), digest_size=8).digest(), "little")


def _weights_of(request: Request) -> str | None:
    member = request.member
    return member.identity if member is not None and member.rank == 0 else None
