"""Numba's caches are pickles: trusted code fills them before, candidates see them read-only."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from coevo.content import ProblemFolder
from coevo.evaluation import EvaluationPool

COMPILED = """
from numba import njit


@njit(cache=True)
def closed_length(points, tour):
    total = 0.0
    for at in range(len(tour)):
        step = points[tour[at]] - points[tour[at - 1]]
        total += (step[0] ** 2 + step[1] ** 2) ** 0.5
    return total


plain_solve = solve


def solve(heuristic, instance):
    tour = plain_solve(heuristic, instance)
    closed_length(instance.data["points"], tour)
    return tour


def loaded_and_compiled():
    return sum(closed_length.stats.cache_hits.values()), sum(closed_length.stats.cache_misses.values())
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory, toy: ProblemFolder) -> ProblemFolder:
    """The toy problem with a compiled, cached function in `solve`."""
    folder = Path(shutil.copytree(toy.path, tmp_path_factory.mktemp("numba") / "toy"))
    with (folder / "problem.py").open("a") as file:
        file.write(COMPILED)
    return ProblemFolder(folder, toy.spec, toy.description)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the user's caches are, for these tests."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def pool(compiled: ProblemFolder, cache: Path) -> Iterator[EvaluationPool]:
    """One judge on the compiled problem."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        with EvaluationPool(compiled, workers=1) as opened:
            yield opened


def test_trusted_code_fills_the_cache_and_the_sandbox_reads_it(
    pool: EvaluationPool, cache: Path, heuristic: Callable[..., str]
) -> None:
    """The compiled function is on disk before the first candidate, and the candidate's process has it from there."""
    assert list(cache.rglob("*closed_length*.nbc"))
    look = "raise LookupError(str(sys._getframe(2).f_globals['loaded_and_compiled']()))"
    assert "LookupError in line 4: (1, 0)" in pool.evaluate(heuristic(look)).detail


def test_candidates_cannot_write_to_the_cache(
    pool: EvaluationPool, cache: Path, heuristic: Callable[..., str], toy: ProblemFolder
) -> None:
    """Neither a new file nor an existing one, and the next candidate is evaluated normally."""
    before = sorted((file.name, file.stat().st_mtime_ns) for file in cache.rglob("*"))
    for attack in (
        "open(os.path.join(os.environ['NUMBA_CACHE_DIR'], 'x'), 'w')",
        "for top, _, files in os.walk(os.environ['NUMBA_CACHE_DIR']):\n"
        "    for name in files: open(os.path.join(top, name), 'r+b')",
        "for top, _, files in os.walk(os.environ['NUMBA_CACHE_DIR']):\n"
        "    for name in files: os.unlink(os.path.join(top, name))",
    ):
        verdict = pool.evaluate(heuristic(attack))
        assert verdict.status == "crash"
        assert "PermissionError" in verdict.detail
    assert pool.evaluate(toy.baselines()["nearest"]).status == "ok"
    assert sorted((file.name, file.stat().st_mtime_ns) for file in cache.rglob("*")) == before
