import os
import shutil
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pytest

from coevo.content import ProblemFolder, read_problem
from coevo.evaluation import EvaluationPool

TOY = Path(__file__).parent / "toy"


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compiled code goes to a folder of the test session, never to the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("own-cache")))
        yield


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> ProblemFolder:
    """The five-node problem, in a folder of its own."""
    return read_problem(Path(shutil.copytree(TOY, tmp_path_factory.mktemp("content") / "toy")))


@pytest.fixture
def variant(tmp_path: Path) -> Callable[[str], ProblemFolder]:
    """Makes a five-node problem whose `problem.py` ends in further lines, which may redefine what is above."""

    def make(lines: str) -> ProblemFolder:
        folder = Path(shutil.copytree(TOY, tmp_path / "variant"))
        with (folder / "problem.py").open("a") as file:
            file.write(f"\n\n{lines}\n")
        return read_problem(folder)

    return make


@pytest.fixture(scope="session")
def heuristic() -> Callable[..., str]:
    """Makes the source of a heuristic that does something and then takes the first node that is left."""

    def make(*lines: str, result: str = "unvisited[0]") -> str:
        body = "".join(f"    {line}\n" for text in lines for line in text.splitlines())
        head = "import os, sys\nimport numpy as np\ndef select_next_node(current, unvisited, distances):\n"
        return f"{head}{body}    return {result}\n"

    return make


def _children() -> dict[int, list[int]]:
    """Ids of each process's children; those that have ended and were not reaped count too."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(folder.name))
    return children


def _descendants(root: int, apart: Collection[int] = ()) -> list[int]:
    """Ids of all processes below `root`, nearest first, without those `apart` and what is below them."""
    children = _children()
    found, level = [], [root]
    while level:
        level = [child for parent in level for child in children.get(parent, []) if child not in apart]
        found += level
    return found


@pytest.fixture(scope="session")
def descendants() -> Callable[[int], list[int]]:
    """The ids of all processes below one at this moment, nearest first."""
    return _descendants


@pytest.fixture
def settled() -> Callable[[int, int], int]:
    """Waits until the number of processes below one is what it should be; gives the number in the end.

    What this process had started before the test, such as a cluster that other tests share, is not counted.
    """
    apart = _children().get(os.getpid(), [])

    def wait(root: int, expected: int) -> int:
        deadline = time.monotonic() + 10
        while len(found := _descendants(root, apart)) != expected and time.monotonic() < deadline:
            time.sleep(0.02)
        return len(found)

    return wait


@pytest.fixture(scope="session")
def by_plain_calls() -> Callable[[ProblemFolder, str], tuple[float, ...]]:
    """Objectives of the nearest-neighbour baseline on a split, without pool or sandbox."""

    def evaluate(problem: ProblemFolder, split: str) -> tuple[float, ...]:
        module, space = problem.load(), {}
        exec(problem.baselines()["nearest"], space)
        function = space["select_next_node"]
        return tuple(module.objective(i, module.solve(function, i)) for i in module.instances(split))

    return evaluate


@pytest.fixture(scope="module")
def pool(toy: ProblemFolder) -> Iterator[EvaluationPool]:
    """One judge with its sandbox on the toy problem."""
    with EvaluationPool(toy, workers=1) as opened:
        yield opened
