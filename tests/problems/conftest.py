"""The bundled problems, loaded once."""

from types import SimpleNamespace

import pytest

from coevo.content import find_problem, load_module


@pytest.fixture(scope="session")
def loaded():
    """The problem tsp: `folder`, `problem` (its module), `instances` by split, `baselines` (functions by name)."""
    folder = find_problem("tsp")
    problem = folder.load()
    files = sorted((folder.path / "baselines").glob("*.py"))
    return SimpleNamespace(
        folder=folder,
        problem=problem,
        instances={split: problem.instances(split) for split in folder.spec.splits},
        baselines={file.stem: getattr(load_module(file), folder.spec.heuristic.function) for file in files},
    )


@pytest.fixture(scope="session")
def objectives(loaded):
    """A function (heuristic, split) -> objectives of all instances of the split."""

    def run(heuristic, split):
        problem = loaded.problem
        return [problem.objective(instance, problem.solve(heuristic, instance)) for instance in loaded.instances[split]]

    return run
