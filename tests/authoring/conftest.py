"""Problem folders to check: the scaffold as it is written, and variants of it that break the contract in one place."""

from collections.abc import Callable
from pathlib import Path

import pytest

from coevo.authoring.findings import Finding
from coevo.authoring.scaffold import new_problem
from coevo.authoring.subject import Subject
from coevo.authoring.worker import CHECKS, run
from coevo.content import ProblemFolder, read_problem


@pytest.fixture(scope="session")
def scaffold(tmp_path_factory: pytest.TempPathFactory) -> ProblemFolder:
    """The folder that `coevo problem new` writes."""
    return read_problem(new_problem("my-day", tmp_path_factory.mktemp("scaffold")))


@pytest.fixture
def variant(tmp_path: Path) -> Callable[..., ProblemFolder]:
    """Makes a scaffold in which, file by file, an old text is replaced by a new one, or a text is added at the end."""

    def make(*edits: tuple[str, str, str], code: str = "", baseline: str = "") -> ProblemFolder:
        folder = new_problem("variant", tmp_path)
        for name, old, new in edits:
            text = (folder / name).read_text()
            assert old in text
            (folder / name).write_text(text.replace(old, new))
        with (folder / "problem.py").open("a") as file:
            file.write(f"\n\n{code}\n")
        if baseline:
            (folder / "baselines" / "another.py").write_text(baseline)
        return read_problem(folder)

    return make


@pytest.fixture
def found() -> Callable[[ProblemFolder, str], Finding]:
    """Runs one check of a problem's code in this process, as the worker does."""

    def look(folder: ProblemFolder, name: str) -> Finding:
        return run({check.name: check for check in CHECKS}[name], Subject(folder, deadline_s=60.0))

    return look
