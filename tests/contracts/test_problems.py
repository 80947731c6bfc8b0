"""The contract of a problem folder, held by every bundled problem."""

import hashlib
import subprocess
import sys

import numpy as np
import pytest

from coevo.content import find_problem, load_module, problem_paths
from coevo.errors import Infeasible
from coevo.interfaces import Problem

NAMES = [path.name for path in problem_paths()]
LOOKED_AT = 8
"""Instances of a split that a baseline solves here; the problem's own tests solve all."""


def digest(instances):
    """SHA-256 of names, seeds and data, in order."""
    state = hashlib.sha256()
    for instance in instances:
        state.update(f"{instance.name} {instance.seed}".encode())
        for key, value in sorted(instance.data.items()):
            state.update(key.encode() + np.ascontiguousarray(value).tobytes())
    return state.hexdigest()


@pytest.fixture(params=NAMES)
def folder(request):
    """Each bundled problem in turn."""
    return find_problem(request.param)


@pytest.fixture
def problem(folder):
    """Its module."""
    return folder.load()


@pytest.fixture
def baselines(folder):
    """Its baseline heuristics as functions, by name."""
    files = sorted((folder.path / "baselines").glob("*.py"))
    return {file.stem: getattr(load_module(file), folder.spec.heuristic.function) for file in files}


def test_there_are_problems():
    """The parametrised tests below run on something."""
    assert "tsp" in NAMES


def test_metadata_is_complete(folder, problem):
    """The folder is named as its problem, the description does not give the code away, and the module fits."""
    assert folder.spec.name == folder.path.name
    assert len(folder.description) > 100
    assert isinstance(problem, Problem)
    assert folder.spec.source
    assert folder.spec.licence


def test_every_split_has_distinct_instances(folder, problem):
    """Names are unique within a split; data and seeds are shared by no two instances of any split."""
    splits = {split: problem.instances(split) for split in folder.spec.splits}
    for instances in splits.values():
        assert len({instance.name for instance in instances}) == len(instances) > 0
    every = [instance for instances in splits.values() for instance in instances]
    contents = {digest([type(instance)("", 0, instance.data)]) for instance in every}
    assert len(contents) == len(every)
    assert len({instance.seed for instance in every}) == len(every)


def test_instances_are_plain_numbers(folder, problem):
    """Only numeric arrays and numbers, because they cross the sandbox pipe as bytes."""
    for value in problem.instances("search")[0].data.values():
        assert np.asarray(value).dtype.kind in "biuf"


def test_instances_are_the_same_in_every_process(folder, problem):
    """Generated again here, and in a fresh interpreter with another hash seed, they are equal bit for bit."""
    expected = digest(problem.instances("search"))
    assert digest(problem.instances("search")) == expected
    program = (
        "import sys; sys.path[:0] = sys.argv[3:]\n"
        "from coevo.content import find_problem, load_module\n"
        "from pathlib import Path\n"
        "digest = load_module(Path(sys.argv[1])).digest\n"
        "print(digest(find_problem(sys.argv[2]).load().instances('search')))"
    )
    command = [sys.executable, "-c", program, __file__, str(folder.path), *sys.path]
    answer = subprocess.run(command, check=True, capture_output=True, text=True, env={"PYTHONHASHSEED": "7"})
    assert answer.stdout.strip() == expected


def test_baselines_are_valid_and_deterministic(folder, problem, baselines):
    """Each solves its instances feasibly, twice alike, with a numeric array and a finite objective."""
    for instance in problem.instances("search")[:LOOKED_AT]:
        for heuristic in baselines.values():
            solution = problem.solve(heuristic, instance)
            assert isinstance(solution, np.ndarray)
            assert solution.dtype.kind in "biuf"
            assert np.array_equal(solution, problem.solve(heuristic, instance))
            assert np.isfinite(problem.objective(instance, solution))


def test_objective_is_pure(folder, problem, baselines):
    """It returns the same value again and leaves instance and solution as they were."""
    instance = problem.instances("search")[0]
    solution = problem.solve(next(iter(baselines.values())), instance)
    before = digest([instance]), solution.tobytes()
    assert problem.objective(instance, solution) == problem.objective(instance, solution)
    assert (digest([instance]), solution.tobytes()) == before


@pytest.mark.parametrize("fill", [np.nan, -1])
def test_a_broken_solution_is_refused(problem, baselines, fill):
    """An array of the right shape that means nothing raises Infeasible, with a message."""
    instance = problem.instances("search")[0]
    solution = problem.solve(next(iter(baselines.values())), instance)
    with pytest.raises(Infeasible, match=r"\w"):
        problem.objective(instance, np.full(solution.shape, fill, dtype=type(fill)))


def test_reference_is_never_worse_than_a_baseline(folder, problem, baselines):
    """Where a best known objective is stored, no baseline has a better one."""
    if not hasattr(problem, "reference"):
        pytest.skip(f"{folder.spec.name} has no reference")
    for split in folder.spec.splits:
        instances, reference = problem.instances(split), problem.reference(split)
        assert reference.shape == (len(instances),)
        for heuristic in baselines.values():
            for best, instance in zip(reference[:LOOKED_AT], instances, strict=False):
                objective = problem.objective(instance, problem.solve(heuristic, instance))
                assert folder.sign() * best <= folder.sign() * objective + 1e-9


def test_classics_solve_feasibly(problem):
    """Textbook algorithms, where a problem has them, return feasible solutions."""
    if not hasattr(problem, "classics"):
        pytest.skip("no classics")
    for algorithm in problem.classics().values():
        for instance in problem.instances("search")[:LOOKED_AT]:
            assert np.isfinite(problem.objective(instance, algorithm(instance)))


def test_drawing_is_safe_svg(problem, baselines):
    """A drawing, where a problem has one, is SVG text without scripts."""
    if not hasattr(problem, "draw"):
        pytest.skip("no drawing")
    instance = problem.instances("search")[0]
    text = problem.draw(instance, problem.solve(next(iter(baselines.values())), instance))
    assert text.startswith("<svg ")
    assert "<script" not in text
