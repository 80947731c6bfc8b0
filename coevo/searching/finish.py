"""The end of a search: the best heuristic is chosen on `val` and reported on splits the search never saw."""

import logging
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from coevo.candidate import Candidate
from coevo.content import ProblemFolder
from coevo.errors import ContentError
from coevo.evaluation.fresh_seeds import fresh
from coevo.evolution.population import Population, Scored
from coevo.interfaces import Instance, Solution
from coevo.searching.examiner import Examiner, Role
from coevo.searching.result import Best, SplitResult, gap

logger = logging.getLogger(__name__)

FRESH_SEEDS = 3
"""How many times a finalist of a random problem is measured; the spread shown is over these."""
FINALISTS = 3
"""How many candidates of a random problem are measured that often."""
T = TypeVar("T")
Row = dict[str, SplitResult]


@dataclass(frozen=True, slots=True)
class Findings:
    """What the end of a search has to say; empty when no candidate was valid.

    `textbook` holds the mean objective of each textbook algorithm on each split, under its name in `comparisons`.
    """

    best: Best | None = None
    splits: dict[str, SplitResult] = field(default_factory=dict)
    comparisons: dict[str, dict[str, SplitResult]] = field(default_factory=dict)
    textbook: dict[str, dict[str, float | None]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reported:
    """What is to be reported.

    Attributes:
        splits: Where; all of the problem's if there is none.
        compare: Whether of the baselines and textbook algorithms too.
        known: The means of `reference_means`.
    """

    splits: tuple[str, ...] = ()
    compare: bool = True
    known: Mapping[str, float] = field(default_factory=dict)


def report(problem: ProblemFolder, chosen: Scored | None, examiner: Examiner, wanted: Reported) -> Findings:
    """Measure the chosen candidate on splits and, to compare, the problem's baselines and textbook algorithms.

    Of a random problem the baselines are measured under the first of the fresh seeds alone.
    """
    if chosen is None:
        return Findings()
    baselines = {name: Candidate(code) for name, code in problem.baselines().items()} if wanted.compare else {}
    splits, known = list(wanted.splits or problem.spec.splits), wanted.known
    for split in splits:
        for draw in draws(problem, split):
            examiner.begin(chosen.candidate, draw)
        for candidate in baselines.values():
            examiner.begin(candidate, draws(problem, split)[0])
    own = {split: _measured(examiner, chosen.candidate, draws(problem, split), "candidate") for split in splits}
    table = {
        name: {split: _measured(examiner, candidate, draws(problem, split)[:1], "baseline") for split in splits}
        for name, candidate in baselines.items()
    }
    algorithms = _textbook_means(problem, splits) if wanted.compare else {}
    textbook = {name if name not in table else f"{name} (textbook)": means for name, means in algorithms.items()}
    for name, means in textbook.items():
        table[name] = {split: SplitResult(objective=mean, gap=None) for split, mean in means.items()}
    table = {name: _with_gaps(problem, row, known) for name, row in table.items()}
    best = Best(candidate=chosen.candidate.identity, cost=chosen.cost, objective=problem.sign() * chosen.cost)
    return Findings(best, _with_gaps(problem, own, known), table, textbook)


def _with_gaps(problem: ProblemFolder, row: Row, known: Mapping[str, float]) -> Row:
    return {s: v.model_copy(update={"gap": gap(problem.sign(), v.objective, known.get(s))}) for s, v in row.items()}


def draws(problem: ProblemFolder, split: str) -> list[str]:
    """What a split is measured on: itself or, if the objective is random, its instances under fresh seeds."""
    return [fresh(split, draw) for draw in range(1, FRESH_SEEDS + 1)] if problem.spec.is_random else [split]


def _measured(examiner: Examiner, candidate: Candidate, splits: Sequence[str], role: Role) -> SplitResult:
    return summarised([examiner.verdict(candidate, split, role).objective for split in splits])


def summarised(objectives: Sequence[float | None]) -> SplitResult:
    """Mean and, over several draws, standard deviation of mean objectives; nothing where one of them failed."""
    known = [value for value in objectives if value is not None]
    if len(known) < len(objectives):
        return SplitResult(objective=None, gap=None)
    spread = statistics.stdev(known) if len(known) > 1 else None
    return SplitResult(objective=statistics.fmean(known), spread=spread, gap=None)


def choose_best(population: Population, examiner: Examiner, problem: ProblemFolder) -> Scored:
    """The population's candidate of least cost on the choosing split; ties and failures fall back on the search cost.

    For a random objective, all are measured under one fresh seed and the best few of them, the finalists, under more:
    under its own seeds a candidate may have been lucky.
    """
    first, *more = draws(problem, problem.spec.choosing_split)
    ranked = _ranked(population.ranked, examiner, [first])
    return (_ranked(ranked[:FINALISTS], examiner, [first, *more]) if more else ranked)[0]


def _ranked(candidates: Sequence[Scored], examiner: Examiner, splits: Sequence[str]) -> list[Scored]:
    """Candidates by mean cost over splits, those that failed on one last; equals stay in order."""
    for scored in candidates:
        for split in splits:
            examiner.begin(scored.candidate, split)
    costs = [_mean_cost([examiner.verdict(each.candidate, split).cost for split in splits]) for each in candidates]
    return [candidates[place] for _, place in sorted((cost, place) for place, cost in enumerate(costs))]


def _mean_cost(costs: Sequence[float | None]) -> float:
    return float(np.mean([np.inf if cost is None else cost for cost in costs]))


def _textbook_means(problem: ProblemFolder, splits: Sequence[str]) -> dict[str, dict[str, float | None]]:
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
    known = {split: reference_of(problem, split, len(instances_of(problem, split))) for split in splits}
    return {split: float(np.mean(values)) for split, values in known.items() if values is not None}


def reference_of(problem: ProblemFolder, split: str, count: int) -> NDArray[np.float64] | None:
    """Best-known objective of each of a split's `count` instances, in order; None if the problem knows none.

    Raises:
        ContentError: If the problem's `reference` fails or gives anything but finite numbers.
    """
    if not hasattr(problem.load(), "reference"):
        return None
    return _call(problem, "reference", split, then=lambda values: _as_references(values, count))


def instances_of(problem: ProblemFolder, split: str) -> list[Instance]:
    """The instances of a split, for comparison; judges make their own.

    Raises:
        ContentError: If the problem fails to make them.
    """
    return _call(problem, "instances", split, then=list)


def _as_references(values: Any, count: int) -> NDArray[np.float64] | None:
    if values is None:
        return None
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (count,) or not np.isfinite(array).all():
        raise ValueError(f"expected {count} finite numbers, one per instance, got shape {array.shape}")
    return array


def _call(problem: ProblemFolder, name: str, *arguments: str, then: Callable[[Any], T]) -> T:
    """Call an optional function of a problem and read its answer; what goes wrong is said to be the folder's fault."""
    try:
        return then(getattr(problem.load(), name)(*arguments))
    except (Exception, SystemExit) as error:
        call = f"{name}({', '.join(map(repr, arguments))})"
        raise ContentError(f"{problem.path / 'problem.py'}: {call} fails: {type(error).__name__}: {error}") from error
