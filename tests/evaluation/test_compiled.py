"""A user is told before the first use of a problem compiles, and only then."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from coevo.content import ProblemFolder
from coevo.evaluation import EvaluationPool

COMPILED = """
from numba import njit


@njit(cache=True)
def twice(value):
    return 2 * value


plain_objective = objective


def objective(instance, solution):
    return twice(plain_objective(instance, solution))
"""


@pytest.fixture
def notices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> Callable[[ProblemFolder], list[str]]:
    """Starts a pool of two judges over an empty cache and gives what was said on the way."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own"))
    caplog.set_level(logging.INFO, "coevo")

    def start(problem: ProblemFolder) -> list[str]:
        caplog.clear()
        with EvaluationPool(problem, workers=2):
            return [record.message for record in caplog.records]

    return start


def test_compiling_is_announced_once(
    notices: Callable[[ProblemFolder], list[str]], variant: Callable[[str], ProblemFolder]
) -> None:
    """One of two judges says so on the first start, none on the second, one again after the code has changed."""
    problem = variant(COMPILED)
    said = ["compiling the evaluators of toy for this machine, once"]
    assert notices(problem) == said
    assert notices(problem) == []
    with (problem.path / "problem.py").open("a") as file:
        file.write("# changed\n")
    assert notices(problem) == said


def test_a_problem_without_numba_compiles_nothing(
    notices: Callable[[ProblemFolder], list[str]], toy: ProblemFolder
) -> None:
    """Nothing is said."""
    assert notices(toy) == []
