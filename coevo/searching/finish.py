"""The end of a search: the best heuristic is chosen on `val` and reported on splits the search never saw."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from coevo.candidate import Candidate
from coevo.content import ProblemFolder
from coevo.errors import ContentError
from coevo.evolution.population import Population, Scored
from coevo.interfaces import Instance, Solution
from coevo.searching.examiner import Examiner
from coevo.searching.result import Best, SplitResult

logger = logging.getLogger(__name__)
T = TypeVar("T")


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
    """Mean objective of the problem's textbook algorithms, None where one fails: trusted code, so it runs here."""
    return {
        name: {split: _textbook_mean(problem, algorithm, split) for split in splits}
        for name, algorithm in textbook_algorithms(problem).items()
    }


def textbook_algorithms(problem: ProblemFolder) -> Mapping[str, Callable[[Instance], Solution]]:
    """The problem's `classics`, if it has any.

    Raises:
        ContentError: If `classics` fails or is no mapping from names to functions.
    """
    if not hasattr(problem.load(), "classics"):
        return {}
    return _call(problem, "classics", then=_as_algorithms)


def _as_algorithms(value: Any) -> dict[str, Callable[[Instance], Solution]]:
    algorithms = dict(value)
    if not all(isinstance(name, str) and callable(algorithm) for name, algorithm in algorithms.items()):
        raise TypeError("expected a mapping from names to functions")
    return algorithms


def _textbook_mean(problem: ProblemFolder, algorithm: Callable[[Instance], Solution], split: str) -> float | None:
    module = problem.load()
    try:
        mean = float(np.mean([module.objective(i, algorithm(i)) for i in module.instances(split)]))
    except Exception as error:
        # A comparison must not cost the search its result.
        logger.warning("a textbook algorithm failed on %s: %s: %s", split, type(error).__name__, error)
        return None
    return mean if np.isfinite(mean) else None


def reference_means(problem: ProblemFolder, splits: Sequence[str]) -> dict[str, float]:
    """Mean best-known objective of each split that has one.

    Raises:
        ContentError: If the problem's `reference` fails or gives anything but finite numbers.
    """
    if not hasattr(problem.load(), "reference"):
        return {}
    known = {split: _call(problem, "reference", split, then=_as_mean) for split in splits}
    return {split: mean for split, mean in known.items() if mean is not None}


def _as_mean(values: Any) -> float | None:
    if values is None:
        return None
    mean = float(np.mean(np.asarray(values, dtype=float)))
    if not np.isfinite(mean):
        raise ValueError("expected finite numbers")
    return mean


def _call(problem: ProblemFolder, name: str, *arguments: str, then: Callable[[Any], T]) -> T:
    """Call an optional function of a problem and read its answer; what goes wrong is said to be the folder's fault."""
    try:
        return then(getattr(problem.load(), name)(*arguments))
    except (Exception, SystemExit) as error:
        call = f"{name}({', '.join(map(repr, arguments))})"
        raise ContentError(f"{problem.path / 'problem.py'}: {call} fails: {type(error).__name__}: {error}") from error


def gap(problem: ProblemFolder, objective: float | None, reference: float | None) -> float | None:
    """How much worse a mean objective is than the mean best-known one, as a fraction of the latter; 0 is optimal."""
    if objective is None or not reference:
        return None
    return problem.sign() * (objective - reference) / abs(reference)
