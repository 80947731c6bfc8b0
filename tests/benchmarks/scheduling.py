"""How well a search keeps many engines and judges busy: the real scheduler on a virtual clock, in one process.

    OMP_NUM_THREADS=1 python tests/benchmarks/scheduling.py --seed 0

Loop, fleet and pool are the product's own code; engines and judges only let time pass, as the completions of a recorded
search say (`tests/support/virtual_search.py` has the model). A step's makespan goes from its first request to
its last verdict. It is compared with a bound that no schedule beats, though it knew every length beforehand
(`tests/support/step_bounds.py`), so that the quotient is at least as good as it says.

`record_times.py` makes the recorded times.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from controller_cost import controller_ms
from step_bounds import Step, bound_s, list_schedule_s, optimum_s, work_s
from virtual_search import Pace, Simulation, Times
from virtual_world import World

from coevo.records.environment import describe_environment
from coevo.records.event_log import Event

RECORDED = Path(__file__).parent / "recorded_times.json"
RECIPE = "esopt-eoh-2000"


@dataclass(frozen=True)
class Scenario:
    """What is simulated.

    Attributes:
        title: For the page.
        told: Where its numbers come from, for the page.
        pace: Of engines.
        children: Of each of 30 members.
        stretched: What `Times` does with recorded ones.
        judges: The fewest.
        generations: All but the last, in which σ is 0, have two steps.
    """

    title: str
    told: str
    pace: Pace
    children: int
    stretched: Mapping[str, float] = field(default_factory=dict)
    judges: int = 1
    generations: int = 4


EMBEDDED = Pace(switch_s=7.3e-3, read_s=0.0, step_s=1.71e-3, row_s=0.39e-3, commit_s=0.05)
LARGE = Pace(switch_s=0.5, read_s=0.1, step_s=0.02, row_s=2e-4, commit_s=5.0)
SMALL_TOLD = (
    "The embedded model on one core each: a switch takes 7.3 ms, a token of a batch 1.71 ms and 0.39 ms for each row "
    "(from the rates in es_engine.md: 475 tokens/s alone, 2,255 in a batch of 32). Times as recorded: an answer takes "
    "0.04 s in the mean, an evaluation 0.09 s."
)
LARGE_TOLD = (
    "Assumed, not measured: a switch takes 0.5 s, reading the prompts 0.1 s, a token of a batch 20 ms and 0.2 ms for "
    "each row. Tokens t are stretched to 30·15.7·(t/15.7)^1.4, which is heavy-tailed and gives answers of 2 to 50 s "
    "(10 s in the mean); evaluations take twenty times what was recorded, 1.8 s in the mean."
)
SCENARIOS = {
    "small": Scenario("Small model, 30 members with one child each", SMALL_TOLD, EMBEDDED, 1),
    "large": Scenario(
        "Large model, 30 members with one child each",
        LARGE_TOLD,
        LARGE,
        1,
        {"tokens_by": 30.0, "power": 1.4, "evaluation_by": 20.0},
    ),
    "cases": Scenario(
        "Small model, 30 members with four children each",
        "The same pace and times.",
        EMBEDDED,
        4,
        judges=16,
        generations=3,
    ),
}


@dataclass(frozen=True)
class Measured:
    """One step of a simulated search, in virtual seconds.

    Attributes:
        step: What was to be done.
        makespan: From the first request to the last verdict.
        written: From the first request to the last answer.
        busy: Of engines, all together.
    """

    step: Step
    makespan: float
    written: float
    busy: float


class Watch:
    """Makes `Measured` of a simulation's events; steps are batches that have members."""

    def __init__(self, simulation: Simulation) -> None:
        self.steps: list[Measured] = []
        self._simulation = simulation
        self._asked: list[Mapping[str, Any]] = []
        self._began = self._busy = self._written = 0.0

    def __call__(self, world: World, event: Event) -> None:
        """Take an event."""
        if event["kind"] == "asked":
            self._asked, self._began, self._busy = event["requests"], world.now, self._all_busy()
        elif event["kind"] == "completion":
            self._written = world.now
        elif event["kind"] == "batch" and any(request["member"] for request in self._asked):
            times = (at - self._began for at in (world.now, self._written))
            self.steps.append(Measured(self._step(), *times, busy=self._all_busy() - self._busy))

    def _all_busy(self) -> float:
        return sum(seat.busy_s for seat in self._simulation.fleet.meter)

    def _step(self) -> Step:
        owners: dict[str, list[Any]] = {}
        for request in self._asked:
            owners.setdefault(request["member"], []).append(self._simulation.times.drawn[request["id"]])
        return Step(tuple(tuple(rows) for rows in owners.values()), is_dense=True)


@dataclass(frozen=True)
class Cell:
    """All steps of one simulated search."""

    engines: int
    judges: int
    pace: Pace
    steps: Sequence[Measured]

    @property
    def makespan(self) -> float:
        """Of all steps together."""
        return sum(each.makespan for each in self.steps)

    @property
    def bound(self) -> float:
        """Of all steps together."""
        return sum(bound_s(each.step, self.pace, self.engines, self.judges) for each in self.steps)

    @property
    def quotient(self) -> float:
        """How near the steps are to the bound; 1 is best."""
        return self.bound / self.makespan

    @property
    def idle(self) -> float:
        """Share of the engines' time in which they wait for the end of a step."""
        return 1 - sum(each.busy for each in self.steps) / (self.engines * self.makespan)

    @property
    def least_idle(self) -> float:
        """The same share if every step took no longer than its bound: the barrier's own loss."""
        return max(0.0, 1 - sum(work_s(each.step, self.pace) for each in self.steps) / (self.engines * self.bound))

    @property
    def judging(self) -> float:
        """Share of the steps' time in which nothing is written any more, and verdicts are awaited."""
        return 1 - sum(each.written for each in self.steps) / self.makespan


def simulate(scenario: Scenario, engines: int, judges: int, options: argparse.Namespace) -> Cell:
    """One search."""
    values = {
        "problem": "tsp", "splits": ("search",), "seed": options.seed, "engines": engines, "workers": judges,
        "budget": scenario.generations * (20 + 60 * scenario.children),
        "evolution_strategy": {"children": scenario.children},
    }  # fmt: skip
    times = Times.from_file(RECORDED, **scenario.stretched)
    simulation = Simulation(values, times, scenario.pace, recipe=RECIPE)
    watch = Watch(simulation)
    with tempfile.TemporaryDirectory() as folder:
        simulation.run(Path(folder), watch)
    return Cell(engines, judges, scenario.pace, watch.steps)


def knowledge(cells: Sequence[Cell], options: argparse.Namespace, *, solves: bool) -> Iterator[str]:
    """Rows of a Markdown table: makespans of other schedules as shares of coevo's; a solver takes members whole."""
    for cell in cells:
        some = cell.steps[: options.solved] if solves else cell.steps
        coevo = sum(each.makespan for each in some)
        unsorted = sum(greedy_s(cell, lengths(each.step, cell.pace)) for each in some)
        bound = best = sum(bound_s(each.step, cell.pace, cell.engines, cell.judges) for each in some)
        if solves:
            found = (optimum(cell, each, options.limit_s) for each in some)
            best, bound = (sum(column) for column in zip(*found, strict=True))
        shares = (f"{each / coevo:.3f}" for each in (bound, best, coevo, unsorted))
        low, high, *rest = shares
        yield f"| {cell.engines} | {low} | {high if solves else ''} | {' | '.join(rest)} |"


def optimum(cell: Cell, measured: Measured, limit_s: float) -> tuple[float, float]:
    """The best makespan found and what is proven; the solver is asked only where the bound leaves a doubt."""
    own = lengths(measured.step, cell.pace)
    bound = bound_s(measured.step, cell.pace, cell.engines, cell.judges)
    orders = (sorted(own)[::-1], sorted(own, key=lambda each: -each[1]), sorted(own, key=lambda each: -sum(each)))
    found = min(measured.makespan, *(greedy_s(cell, order) for order in orders))
    if found <= bound * (1 + 1e-3):
        return found, bound
    best, proven = optimum_s(own, cell.engines, limit_s)
    return min(best, found), max(proven, bound)


def greedy_s(cell: Cell, order: Sequence[tuple[float, float]]) -> float:
    """Makespan of the schedule that gives the next member to whoever is free."""
    return list_schedule_s(order, cell.engines, cell.judges)


def off_greedy(cells: Sequence[Cell]) -> float:
    """The most that a step differs from the greedy schedule of the same members, those with long prompts first."""
    worst = 0.0
    for cell in cells:
        for each in cell.steps:
            pairs = zip(each.step.owners, lengths(each.step, cell.pace), strict=True)
            order = [length for _, length in sorted(pairs, key=lambda pair: -pair[0][0].prompt)]
            worst = max(worst, abs(each.makespan / greedy_s(cell, order) - 1))
    return worst


def lengths(step: Step, pace: Pace) -> list[tuple[float, float]]:
    """Seconds of an engine for each member, kept whole, and until its last verdict if each answer is judged at once."""
    found = []
    for owner in step.owners:
        rows = sorted(owner, key=lambda row: row.tokens)
        ends = [pace.switch_s + end for end in pace.ends([row.tokens for row in rows])]
        judged = max(end + (row.evaluation_s or 0.0) for end, row in zip(ends, rows, strict=True))
        found.append((ends[-1], judged - ends[-1]))
    return found


def matrix(title: str, cells: Sequence[Cell], value: Callable[[Cell], float]) -> list[str]:
    """Engines down, judges across."""
    judges = sorted({cell.judges for cell in cells})
    lines = [f"| {title}, with judges: | {' | '.join(map(str, judges))} |", "| ---: |" + " ---: |" * len(judges)]
    for engines in sorted({cell.engines for cell in cells}):
        row = sorted((cell for cell in cells if cell.engines == engines), key=lambda cell: cell.judges)
        lines.append(f"| {engines} engines | {' | '.join(f'{value(cell):.3f}' for cell in row)} |")
    return [*lines, ""]


def page(options: argparse.Namespace) -> Iterator[str]:
    """The Markdown page, a piece at a time as it is measured."""
    packages = describe_environment()
    yield "# How well many engines and judges are kept busy"
    versions = f"coevo {packages['packages']['coevo']} at {packages['commit']}, Python {packages['python']}"
    yield f"\nCommand: `{command(options)}`; {versions}.\n"
    for name in options.scenarios:
        scenario = SCENARIOS[name]
        cells = [
            simulate(scenario, e, j, options) for e in options.engines for j in options.judges if j >= scenario.judges
        ]
        yield f"## {scenario.title}\n\n{scenario.told}\n"
        yield "\n".join(matrix("bound / makespan of a step", cells, lambda cell: cell.quotient))
        yield "\n".join(matrix("idle share of engines", cells, lambda cell: cell.idle))
        yield "\n".join(matrix("the same in a step as short as its bound", cells, lambda cell: cell.least_idle))
        yield "\n".join(matrix("share of a step after the last answer", cells, lambda cell: cell.judging))
        yield from beside(cells, options, solves=scenario.children == 1)
    if options.budgets:
        yield "## The controller\n"
        yield "| budget | engines | judges | CPU ms per candidate |\n| ---: | ---: | ---: | ---: |"
        for budget in options.budgets:
            for engines, judges in ((4, 16), (64, 256)):
                yield f"| {budget} | {engines} | {judges} | {controller_ms(budget, engines, judges, RECIPE):.2f} |"


def beside(cells: Sequence[Cell], options: argparse.Namespace, *, solves: bool) -> Iterator[str]:
    """Other schedules of the same steps, where every answer is judged at once, so that their order is no matter."""
    free = [cell for cell in cells if cell.judges >= 30]
    if solves and free:
        yield f"With 30 judges or more, a greedy schedule by prompts differs by {off_greedy(free):.1e} at most.\n"
    most = [cell for cell in cells if cell.judges == max(options.judges)]
    steps = f"the first {options.solved}" if solves else "all"
    yield f"Makespans of {steps} steps with {max(options.judges)} judges, coevo's being 1:\n"
    yield "| engines | no schedule is below | found, lengths known | coevo | members whole, in request order |"
    yield "| ---: |" + " ---: |" * 4
    yield "\n".join(knowledge(most, options, solves=solves)) + "\n"


def command(options: argparse.Namespace) -> str:
    """What makes this page again."""
    return f"OMP_NUM_THREADS=1 python tests/benchmarks/scheduling.py --seed {options.seed}"


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engines", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32, 64])
    parser.add_argument("--judges", type=int, nargs="+", default=[1, 4, 16, 64, 256])
    parser.add_argument("--scenarios", nargs="*", choices=SCENARIOS, default=list(SCENARIOS))
    parser.add_argument("--budgets", type=int, nargs="*", default=[2000, 20000])
    parser.add_argument("--solved", type=int, default=4, help="steps of a cell that are given to the solver")
    parser.add_argument("--limit-s", type=float, default=1.0, help="of the solver, for each step")
    for piece in page(parser.parse_args()):
        print(piece, flush=True)


if __name__ == "__main__":
    main()
