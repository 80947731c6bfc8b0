"""The end of a search: the best heuristic is chosen on `val` and reported on splits the search never saw."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coevo.candidate import Candidate
from coevo.content import ProblemFolder
from coevo.errors import ContentError, Infeasible
from coevo.evolution.population import Population, Scored
from coevo.searching.examiner import Examiner
from coevo.searching.result import Best, SplitResult


@dataclass(frozen=True, slots=True)
class Findings:
    """What the end of a search has to say; empty when no candidate was valid."""

    best: Best | None = None
    splits: dict[str, SplitResult] = field(default_factory=dict)
    comparisons: dict[str, dict[str, SplitResult]] = field(default_factory=dict)


def report(problem: ProblemFolder, chosen: Scored | None, examiner: Examiner, *, compare: bool) -> Findings:
    """Measure the chosen candidate on every split and, to compare, the problem's baselines and textbook algorithms."""
    if chosen is None:
        return Findings()
    heuristics = {"best": chosen.candidate}
    if compare:
        heuristics |= {name: Candidate(code) for name, code in problem.baselines().items()}
    splits = list(problem.spec.splits)
    for candidate in heuristics.values():
        for split in splits:
            examiner.begin(candidate, split)
    means = {
        name: {split: _objective(examiner, name, candidate, split) for split in splits}
        for name, candidate in heuristics.items()
    }
    if compare:
        means |= textbook_means(problem, splits)
    known = reference_means(problem, splits)
    table = {
        name: {s: SplitResult(objective=row[s], gap=gap(problem, row[s], known.get(s))) for s in splits}
        for name, row in means.items()
    }
    own_splits = table.pop("best")
    best = Best(candidate=chosen.candidate.identity, cost=chosen.cost, objective=problem.sign() * chosen.cost)
    return Findings(best, own_splits, table)


def _objective(examiner: Examiner, name: str, candidate: Candidate, split: str) -> float | None:
    return examiner.verdict(candidate, split, "candidate" if name == "best" else "baseline").objective


def choose_best(population: Population, examiner: Examiner) -> Scored:
    """The population's candidate of least cost on `val`; ties and failures fall back on the search cost."""
    for scored in population:
        examiner.begin(scored.candidate, "val")
    costs = [examiner.verdict(scored.candidate, "val").cost for scored in population]
    ranking = [(float("inf") if cost is None else cost, place) for place, cost in enumerate(costs)]
    return population.ranked[min(ranking)[1]]


def textbook_means(problem: ProblemFolder, splits: Sequence[str]) -> dict[str, dict[str, float | None]]:
    """Mean objective of the problem's textbook algorithms: trusted code, so it runs here.

    Raises:
        ContentError: If `classics` itself fails; an algorithm without a feasible solution has None.
    """
    module: Any = problem.load()
    if not hasattr(module, "classics"):
        return {}
    algorithms = _call(problem, "classics")
    return {
        name: {split: _textbook_mean(module, algorithm, split) for split in splits}
        for name, algorithm in algorithms.items()
    }


def _textbook_mean(module: Any, algorithm: Any, split: str) -> float | None:
    try:
        return float(np.mean([module.objective(i, algorithm(i)) for i in module.instances(split)]))
    except Infeasible:
        return None


def reference_means(problem: ProblemFolder, splits: Sequence[str]) -> dict[str, float]:
    """Mean best-known objective of each split that has one.

    Raises:
        ContentError: If the problem's `reference` fails.
    """
    if not hasattr(problem.load(), "reference"):
        return {}
    known = {split: _call(problem, "reference", split) for split in splits}
    return {split: float(np.mean(values)) for split, values in known.items() if values is not None}


def _call(problem: ProblemFolder, name: str, *arguments: str) -> Any:
    """Call an optional function of a problem; what goes wrong in it is the folder's fault, and said so."""
    try:
        return getattr(problem.load(), name)(*arguments)
    except Exception as error:
        call = f"{name}({', '.join(map(repr, arguments))})"
        raise ContentError(f"{problem.path / 'problem.py'}: {call} fails: {type(error).__name__}: {error}") from error


def gap(problem: ProblemFolder, objective: float | None, reference: float | None) -> float | None:
    """How much worse a mean objective is than the mean best-known one, as a fraction of the latter; 0 is optimal."""
    if objective is None or not reference:
        return None
    return problem.sign() * (objective - reference) / abs(reference)
