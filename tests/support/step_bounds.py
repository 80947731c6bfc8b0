"""How fast a step could be at best: bounds that no schedule can beat, though it knew every length beforehand.

Written from the model of an engine (`virtual_search.Pace`) and of the costs alone, without a look at any scheduler. A
schedule may split members as it likes; it respects the barrier: it begins with nothing done and ends with all judged.
"""

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from virtual_search import Drawn, Pace


@dataclass(frozen=True, slots=True)
class Step:
    """What is to be done: the completions of each dense member, or of the base as the only owner."""

    owners: tuple[tuple[Drawn, ...], ...]
    is_dense: bool

    @property
    def rows(self) -> list[Drawn]:
        """All completions."""
        return [row for owner in self.owners for row in owner]


def work_s(step: Step, pace: Pace) -> float:
    """Seconds of engines that any schedule needs, all engines together: a batch cut in two costs more, never less."""
    return sum(
        _begin_s(step, pace)
        + pace.step_s * max(row.tokens for row in owner)
        + pace.row_s * sum(row.tokens for row in owner)
        for owner in step.owners
    )


def bound_s(step: Step, pace: Pace, engines: int, judges: int) -> float:
    """Seconds that the step takes at least, from its first request to its last verdict."""
    return max(
        work_s(step, pace) / engines,
        _longest_s(step, pace),
        _crowded_s(step, pace, engines),
        _followed_s(step, pace, engines),
        _judged_s(step, pace, engines, judges),
        _judges_crowded_s(step, pace, judges),
    )


def _begin_s(step: Step, pace: Pace) -> float:
    """Before a batch writes its first token; the base may be there already."""
    return pace.read_s + (pace.switch_s if step.is_dense else 0.0)


def _alone_s(step: Step, pace: Pace, tokens: int) -> float:
    """A completion in a batch of its own, which is the fastest that it can be."""
    return _begin_s(step, pace) + tokens * (pace.step_s + pace.row_s)


def _longest_s(step: Step, pace: Pace) -> float:
    """The completion that is written and judged last, if all others are free."""
    return max(_alone_s(step, pace, row.tokens) + (row.evaluation_s or 0.0) for row in step.rows)


def _crowded_s(step: Step, pace: Pace, engines: int) -> float:
    """Engines take the pieces of members one after another."""
    shortest = (min(row.tokens for row in owner) for owner in step.owners)
    return _pigeonholes_s([_alone_s(step, pace, tokens) for tokens in shortest], engines)


def _judges_crowded_s(step: Step, pace: Pace, judges: int) -> float:
    """Judges take evaluations one after another, and none before the first completion is written."""
    first = min(_alone_s(step, pace, row.tokens) for row in step.rows)
    return first + _pigeonholes_s([row.evaluation_s or 0.0 for row in step.rows], judges)


def _pigeonholes_s(spans: Iterable[float], places: int) -> float:
    """Of the k·places + 1 longest, one place has k + 1 at least; they are the shortest k + 1 of these at best."""
    longest = sorted(spans, reverse=True)
    ranges = ((last - last // places, last + 1) for last in range(0, len(longest), places))
    return max(sum(longest[first:last]) for first, last in ranges)


def _followed_s(step: Step, pace: Pace, engines: int) -> float:
    """The completions whose evaluations are longest: the last of them to be written is still to be judged."""
    longest_first = sorted(
        ((row.evaluation_s or 0.0, number, row.tokens) for number, owner in enumerate(step.owners) for row in owner),
        reverse=True,
    )
    slowest: dict[int, int] = {}
    work = best = 0.0
    for evaluation, number, tokens in longest_first:
        more = max(0, tokens - slowest.get(number, 0))
        work += pace.step_s * more + pace.row_s * tokens + (0.0 if number in slowest else _begin_s(step, pace))
        slowest[number] = max(tokens, slowest.get(number, 0))
        best = max(best, work / engines + evaluation)
    return best


def _judged_s(step: Step, pace: Pace, engines: int, judges: int) -> float:
    """Until k − 1 are written nothing else can be judged: then the rest is, and is the shortest to judge at best."""
    judging = sorted(row.evaluation_s or 0.0 for row in step.rows)
    ready = _ready_s(step, pace, engines)
    rest = list(accumulate(judging))  # rest[m - 1]: the m shortest evaluations
    return max(at + rest[len(judging) - place - 1] / judges for place, at in enumerate(ready))


def _ready_s(step: Step, pace: Pace, engines: int) -> list[float]:
    """By place, the earliest time at which place + 1 completions can be written.

    The shortest ones, in as few batches as owners allow; an engine writes at least its share of them one after another.
    """
    tokens = sorted(row.tokens for row in step.rows)
    size = max(len(owner) for owner in step.owners)
    found = []
    for count in range(1, len(tokens) + 1):
        slowest = tokens[:count][::-1][::size]
        work = len(slowest) * _begin_s(step, pace) + pace.step_s * sum(slowest) + pace.row_s * sum(tokens[:count])
        found.append(max(work / engines, _alone_s(step, pace, tokens[count - 1])))
    return found


def list_schedule_s(lengths: Iterable[tuple[float, float]], engines: int, judges: int) -> float:
    """Makespan if whoever is free takes the next: seconds of an engine in order, then of a judge as they come."""
    free, written = [0.0] * engines, []
    for work, evaluation in lengths:
        at = heapq.heappop(free) + work
        heapq.heappush(free, at)
        written.append((at, evaluation))
    ready, last = [0.0] * judges, 0.0
    for at, evaluation in sorted(written, key=lambda each: each[0]):
        end = at
        if evaluation:
            end = max(at, heapq.heappop(ready)) + evaluation
            heapq.heappush(ready, end)
        last = max(last, end)
    return last


def optimum_s(lengths: Sequence[tuple[float, float]], engines: int, limit_s: float) -> tuple[float, float]:
    """Least makespan that a solver finds within the limit, and what it has proven that none is below.

    Args:
        lengths: Seconds of an engine, and what follows elsewhere without waiting.
        engines: All alike.
        limit_s: Of the solver; fewer than 1e-4 of the sum are rounded away.
    """
    from ortools.sat.python import cp_model

    scale = 1e5 / sum(work for work, _ in lengths)
    works, tails = ([max(0, round(scale * each)) for each in column] for column in zip(*lengths, strict=True))
    model = cp_model.CpModel()
    makespan = model.new_int_var(0, sum(works) + max(tails), "makespan")
    spans = []
    for work, tail in zip(works, tails, strict=True):
        start = model.new_int_var(0, sum(works), "")
        spans.append(model.new_fixed_size_interval_var(start, work, ""))
        model.add(start + work + tail <= makespan)
    model.add_cumulative(spans, [1] * len(spans), engines)
    model.minimize(makespan)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = limit_s
    solver.parameters.num_workers = 1
    solver.solve(model)
    return solver.objective_value / scale, solver.best_objective_bound / scale
