"""Checks of `objective`: pure, compiled as it is written, refuses what is broken, charges more for what is worse."""

import json
from collections.abc import Iterator

import numpy as np

from coevo.authoring import mutation
from coevo.authoring.findings import Check, Finding, failed, note, ok, skipped
from coevo.authoring.fresh import NotFinishedError, TooSlowError, ask_fresh, solved
from coevo.authoring.subject import Subject, digest
from coevo.errors import Infeasible
from coevo.interfaces import Instance, Solution

NUM_CHANGES = 60
"""Random changes of each example's solution."""


def pure(subject: Subject) -> Finding:
    """`objective` gives the same value again and leaves instance and solution as they were."""
    for instance, solution in subject.examples:
        before = digest([instance]), solution.tobytes()
        value = subject.problem.objective(instance, solution)
        if (digest([instance]), solution.tobytes()) != before:
            return failed(f"objective changes the instance {instance.name} or its solution; work on copies")
        if (again := subject.problem.objective(instance, solution)) != value:
            return failed(f"objective gives {value} and then {again} for the same solution of {instance.name}")
    return ok("the same value twice; instance and solution stay as they were")


def compiled(subject: Subject) -> Finding:
    """Compiled by Numba, a baseline's solution and objective are what plain Python gives, bit for bit."""
    if not subject.uses_numba:
        return skipped("the problem does not use Numba")
    split, place = subject.smallest
    question = ("solve", split, str(place))
    try:
        answer = ask_fresh(
            subject.folder.path, *question, deadline_s=0.9 * subject.deadline_s, settings={"NUMBA_DISABLE_JIT": "1"}
        )
    except TooSlowError as error:
        return skipped(f"plain Python takes too long for the smallest instance: {error}")
    except NotFinishedError as error:
        return failed(f"without compilation the code fails: {error}")
    plain, fast = json.loads(answer), json.loads(solved(subject, split, place))
    if plain != fast:
        objectives = " and ".join(repr(float.fromhex(each[0])) for each in (fast, plain))
        return failed(
            f"compiled and plain differ on {subject.splits[split][place].name}: objectives {objectives}"
            f"{', solutions differ' if plain[1:] != fast[1:] else ''}; no fastmath, no parallel, sums in a fixed order"
        )
    return ok(f"the same on {subject.splits[split][place].name} with and without compilation, bit for bit")


def refusals(subject: Subject) -> Finding:
    """Broken solutions raise `Infeasible`, and an empty one does not pay."""
    kinds, other = 0, ""
    for instance, solution in subject.examples:
        for words, array in mutation.broken(solution):
            kinds += 1
            try:
                value = subject.problem.objective(instance, array)
            except Infeasible:
                continue
            except Exception as error:
                other = other or f"{words} ends in {type(error).__name__}: {error}"
                continue
            return failed(f"a solution {words} is priced at {value}; objective has to raise Infeasible")
        if not _is_refused_or_worse(subject, instance, solution[:0] if solution.ndim else None, solution):
            return failed("an empty solution costs no more than the baseline's; objective has to raise Infeasible")
    if other:
        return note(
            f"a solution {other:.160}; it counts as invalid, but raise Infeasible and say what is wrong with it"
        )
    return ok(f"{kinds} broken solutions and {len(subject.examples)} empty ones")


def _is_refused_or_worse(subject: Subject, instance: Instance, other: Solution | None, than: Solution) -> bool:
    """An empty choice may be feasible, such as an empty knapsack, but it is never as good."""
    if other is None or other.size == than.size:
        return True
    try:
        value = subject.cost(instance, other)
    except Exception:
        return True
    return not value <= subject.cost(instance, than)


def worse(subject: Subject) -> Finding:
    """At least one random feasible change of a baseline's solution costs more."""
    costs = list(_changed_costs(subject))
    more = sum(after > before for before, after in costs)
    less = sum(after < before for before, after in costs)
    words = f"{len(costs)} of {NUM_CHANGES * len(subject.examples)} random changes are feasible: {more} cost more"
    if not costs:
        return note(f"none of {NUM_CHANGES * len(subject.examples)} random changes of a solution is feasible")
    if not more:
        return failed(f"{words}, {less} less; is `sense` right, and does objective look at the solution?")
    return ok(f"{words}, {less} less")


def _changed_costs(subject: Subject) -> Iterator[tuple[float, float]]:
    """Cost before and after, of every change that is feasible; two swaps may come to none."""
    rng = np.random.default_rng(0)
    for instance, solution in subject.examples:
        before = subject.cost(instance, solution)
        for _ in range(NUM_CHANGES):
            other = mutation.changed(solution, rng)
            if np.array_equal(other, solution):
                continue
            try:
                after = subject.cost(instance, other)
            except Exception:
                # Any refusal will do here; how broken solutions are refused is a check of its own.
                continue
            yield before, after


CHECKS = (
    Check("pure", "objective changes nothing and says the same again", pure, ("solving",)),
    Check("compiled", "compiled code gives what plain Python gives", compiled, ("solving",)),
    Check("refusals", "broken solutions are refused", refusals, ("solving",)),
    Check("worse", "a worse solution costs more", worse, ("solving",)),
)
