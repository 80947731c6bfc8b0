"""What became of a candidate: the trusted reading of how its process ended and of the solutions it claims."""

import math
import signal
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from coevo.candidate import Evaluation, Status
from coevo.errors import Infeasible, escaped
from coevo.interfaces import Instance, Problem, Solution
from coevo.sandbox.confine import Limits
from coevo.sandbox.results import Claim, Failure, GarbledError, decode
from coevo.sandbox.supervisor import Outcome

_MAX_DETAIL = 300


@dataclass(frozen=True, slots=True)
class Part:
    """A run of a split's instances, as the candidate was given them.

    Attributes:
        instances: The pristine instances of this part.
        start: Index of the first within the split.
        total: Instances in the whole split.
    """

    instances: Sequence[Instance]
    start: int
    total: int

    def where(self, index: int) -> str:
        """How a detail names the instance with that index in the part."""
        if index >= len(self.instances):
            return "after the last instance"
        return f"on instance {self.instances[index].name} ({self.start + index + 1} of {self.total})"


def judge(problem: Problem, part: Part, outcome: Outcome, limits: Limits) -> Evaluation:
    """The verdict on one part: objectives in instance order if all is well, else the first failure.

    Only `objective`, `objectives` and `cpu_s` are filled in when ok; `merge` adds cost.
    """
    try:
        claim = decode(outcome.output, max_solutions=len(part.instances))
    except GarbledError as error:
        claim = Claim((), None, is_complete=False)
        garbled = str(error)
    else:
        garbled = ""
    failure = _ending(part, outcome, limits, claim) or _bad_result(part, claim, garbled, outcome)
    if failure is not None:
        return replace(failure, cpu_s=outcome.cpu_s)
    return replace(_price(problem, part, claim.solutions), cpu_s=outcome.cpu_s)


def merge(parts: Sequence[Evaluation], sign: float) -> Evaluation:
    """One verdict on a split from those on its parts, in order: the first failure, or the mean over all instances.

    Args:
        parts: In instance order; after a failed one, the rest does not matter.
        sign: +1 if the objective is minimised, −1 if maximised.
    """
    cpu_s = math.fsum(part.cpu_s for part in parts)
    for part in parts:
        if not part.is_ok:
            return replace(part, cpu_s=cpu_s)
    objectives = tuple(value for part in parts for value in part.objectives)
    try:
        # fsum is exact before its one rounding: the mean does not depend on how the split was cut.
        objective = math.fsum(objectives) / len(objectives)
    except OverflowError:
        return Evaluation("invalid", "the sum of the objectives is not a finite number", cpu_s=cpu_s)
    return Evaluation("ok", "", sign * objective, objective, objectives, cpu_s)


def printable_line(text: str) -> str:
    """Untrusted text as one printable line of at most 300 characters."""
    line = escaped(text[: 2 * _MAX_DETAIL])
    return line if len(line) <= _MAX_DETAIL else line[: _MAX_DETAIL - 1] + "…"


def _failed(status: Status, detail: str) -> Evaluation:
    return Evaluation(status, printable_line(detail))


def _ending(part: Part, outcome: Outcome, limits: Limits, claim: Claim) -> Evaluation | None:
    """The failure that the end of the process itself tells, if it does."""
    where = part.where(len(claim.solutions))
    if outcome.stopped == "size":
        return _failed("invalid", f"the result is larger than {limits.max_result_bytes >> 20} MiB")
    if outcome.stopped == "wall":
        return _failed("timeout", f"still running after {limits.wall_s:g} s on the clock, {where}")
    is_killed = outcome.exit_code == -signal.SIGKILL
    if outcome.stopped == "cpu" or (is_killed and outcome.cpu_s >= limits.cpu_s):
        return _failed("timeout", f"CPU limit of {limits.cpu_s:g} s reached {where}")
    if is_killed:
        return _failed("memory", f"killed by the kernel, out of memory, {where}")
    if outcome.exit_code < 0:
        return _failed("crash", f"{_signal_name(-outcome.exit_code)} {where}")
    return None


def _bad_result(part: Part, claim: Claim, garbled: str, outcome: Outcome) -> Evaluation | None:
    """The failure that the bytes tell, if they do."""
    where = part.where(len(claim.solutions))
    if garbled:
        return _failed("invalid", f"the result is garbled: {garbled}")
    if claim.failure is not None:
        return _reported(claim.failure, where)
    if not claim.is_complete:
        return _failed("crash", f"exited with code {outcome.exit_code} before its result, {where}")
    if len(claim.solutions) < len(part.instances):
        return _failed("invalid", f"the result is garbled: {len(claim.solutions)} of {len(part.instances)} solutions")
    return None


def _reported(failure: Failure, where: str) -> Evaluation:
    line = "" if failure.line is None else f" in line {failure.line}"
    if failure.kind == "memory":
        return _failed("memory", f"out of memory, {where}")
    if failure.kind == "crash":
        return _failed("crash", f"{failure.error}{line}: {failure.message} ({where})")
    return _failed(failure.kind, f"{failure.message} ({where})")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _price(problem: Problem, part: Part, solutions: Sequence[Solution]) -> Evaluation:
    """Objective of every claimed solution on pristine data."""
    objectives: list[float] = []
    for index, (instance, solution) in enumerate(zip(part.instances, solutions, strict=True)):
        try:
            value = _objective(problem, instance, solution)
        except Infeasible as error:
            return _failed("infeasible", f"{error} ({part.where(index)})")
        except Exception as error:
            # A solution can be any array; an objective that trips over one has not been given a valid one.
            return _failed("invalid", f"objective failed: {type(error).__name__}: {error} ({part.where(index)})")
        if not math.isfinite(value):
            return _failed("invalid", f"the objective is {value} ({part.where(index)})")
        objectives.append(value)
    return Evaluation("ok", objectives=tuple(objectives))


def _objective(problem: Problem, instance: Instance, solution: Solution) -> float:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        value: Any = problem.objective(instance, solution)
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"expected a real number, got {type(value).__name__}")
    return float(value)
