"""The problem: its baselines in the real judge, and a time limit that would suit them here."""

from collections.abc import Callable, Mapping

from coevo.candidate import Evaluation
from coevo.content import ProblemFolder
from coevo.evaluation import EvaluationPool
from coevo.evaluation.limits import suggested_limit
from coevo.experiments.doctor.finding import Finding, failed, passed, warned

NAME = "problem"
LEAST_FACTOR = 3
"""A limit should be at least this many times the CPU time of the slowest baseline."""


def problem(folder: ProblemFolder, judge: Callable[[str], Evaluation]) -> Finding:
    """Every baseline timed on the search split; a limit is suggested from the slowest.

    Args:
        folder: The problem.
        judge: Gives the verdict on a heuristic's source, on the search split.
    """
    verdicts = {name: judge(code) for name, code in folder.baselines().items()}
    for name, verdict in verdicts.items():
        if not verdict.is_ok:
            return failed(
                NAME,
                f"the baseline {name} of {folder.spec.name} ends in {verdict.status}: {verdict.detail}",
                f"raise limits.cpu_s in {folder.path / 'problem.toml'} if it is the time; else run "
                f"coevo problem check {folder.path}",
            )
    return _compared(folder, {name: verdict.cpu_s for name, verdict in verdicts.items()})


def real_problem(folder: ProblemFolder) -> Finding:
    """The check in a judge of this machine.

    Raises:
        CoevoError: If the judge cannot start with this problem.
    """
    with EvaluationPool(folder, workers=1) as pool:
        return problem(folder, pool.evaluate)


def _compared(folder: ProblemFolder, used: Mapping[str, float]) -> Finding:
    slowest = max(used, key=lambda name: used[name])
    limit_s, suggested_s = folder.spec.limits.cpu_s, suggested_limit(used[slowest])
    each = ", ".join(f"{name} {cpu_s:.2g} s" for name, cpu_s in used.items())
    found = (
        f"{folder.spec.name}: CPU time on search: {each}; the limit of {limit_s:g} s is "
        f"{limit_s / max(used[slowest], 1e-6):.3g} × the slowest, {suggested_s:g} s would suit it here"
    )
    if limit_s < LEAST_FACTOR * used[slowest]:
        return warned(NAME, found, f"set cpu_s = {suggested_s:g} under limits in {folder.path / 'problem.toml'}")
    return passed(NAME, found)
