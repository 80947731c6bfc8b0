"""The bundled problems, each loaded once."""

from functools import cache
from types import SimpleNamespace

import pytest

from coevo.content import find_problem, load_module


@pytest.fixture(scope="session")
def bundled():
    """A function from the name of a problem to its parts.

    These are `folder`, `problem` (its module), `instances` by split, `baselines` (functions by name).
    """

    @cache
    def load(name):
        folder = find_problem(name)
        problem = folder.load()
        files = sorted((folder.path / "baselines").glob("*.py"))
        return SimpleNamespace(
            folder=folder,
            problem=problem,
            instances={split: problem.instances(split) for split in folder.spec.splits},
            baselines={file.stem: getattr(load_module(file), folder.spec.heuristic.function) for file in files},
        )

    return load


@pytest.fixture(scope="session")
def loaded(bundled):
    """The parts of the problem tsp."""
    return bundled("tsp")


@pytest.fixture(scope="session")
def objectives(loaded):
    """A function (heuristic, split) -> objectives of all instances of the split."""

    def run(heuristic, split):
        problem = loaded.problem
        return [problem.objective(instance, problem.solve(heuristic, instance)) for instance in loaded.instances[split]]

    return run
