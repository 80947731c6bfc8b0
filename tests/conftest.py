"""Fixtures shared by every test: small parts that behave like the real ones and are cheap."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from coevo.candidate import Candidate, Evaluation
from coevo.content import ProblemFolder, find_problem
from coevo.evolution.population import Scored
from coevo.records.event_log import EventLog
from coevo.records.run_directory import RunDirectory

# How long an example takes says more about what else the machine does. The same examples each time: what was green
# stays green until the code changes. New examples are looked for on purpose: `--hypothesis-profile=search`.
settings.register_profile("coevo", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile("coevo")

Judge = Callable[[str], Evaluation]


@pytest.fixture(autouse=True)
def _quiet_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test writes the user's caches or asks a hub."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def tsp() -> ProblemFolder:
    """The bundled travelling-salesman problem."""
    return find_problem("tsp")


@pytest.fixture
def run_directory(tmp_path: Path) -> RunDirectory:
    """An empty run directory."""
    return RunDirectory.create(tmp_path / "runs", "test", {"problem": "tsp", "budget": 10})


@pytest.fixture
def ticking() -> Callable[[], float]:
    """A clock that advances one second each time it is read."""
    state = [0.0]

    def now() -> float:
        state[0] += 1.0
        return state[0]

    return now


@pytest.fixture
def log(run_directory: RunDirectory, ticking: Callable[[], float]) -> Iterator[EventLog]:
    """The open log of the empty run directory."""
    with run_directory.open_log(ticking) as opened:
        yield opened


@pytest.fixture(scope="session")
def shared_data():
    """The folder of published instance files beside the checkout; skips where it is missing."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no instance files beside the checkout (../shared/data)")
    return folder


class FakePool:
    """Judges candidates with a Python function; counts what it was asked."""

    def __init__(self, judge: Judge):
        self._judge = judge
        self.asked: list[tuple[str, str]] = []

    def submit(self, code: str, split: str = "search") -> Future[Evaluation]:
        """A finished future with the judge's verdict."""
        self.asked.append((code, split))
        future: Future[Evaluation] = Future()
        future.set_result(self._judge(code))
        return future


@pytest.fixture
def fake_pool() -> Callable[[Judge], FakePool]:
    """Makes an evaluation pool out of a function from source to verdict."""
    return FakePool


@pytest.fixture
def scored() -> Callable[..., Scored]:
    """Makes a scored candidate from a cost."""

    def make(cost: float, code: str | None = None, **fields: Any) -> Scored:
        return Scored(Candidate(code or f"# cost {cost}\n", **fields), cost)

    return make


TINY_TOML = """
schema_version = 1
name = "tiny"
title = "Order twelve jobs"
sense = "min"
source = "generated"
licence = "CC0-1.0"

[heuristic]
function = "priority"
arguments = [
  { name = "durations", kind = "weights", type = "array", description = "time of each job" },
  { name = "worths", kind = "values", type = "array", description = "weight of each job" },
]
returns = { name = "scores", kind = "vector", type = "array", description = "largest first" }

[splits]
search = "8 instances"
val = "4 instances"
test = "4 instances"

[limits]
cpu_s = 5.0
memory_mb = 512
"""

TINY_PY = """
import numpy as np

from coevo.errors import Infeasible
from coevo.interfaces import Instance

SPLITS = {"search": (1, 8), "val": (2, 4), "test": (3, 4)}


def instances(split):
    seed, count = SPLITS[split]
    rng = np.random.default_rng(seed)
    return [
        Instance(f"{split}-{n}", n, {"durations": rng.random(12) + 0.1, "worths": rng.random(12)}) for n in range(count)
    ]


def solve(heuristic, instance):
    scores = heuristic(instance.data["durations"].copy(), instance.data["worths"].copy())
    return np.argsort(-np.asarray(scores), kind="stable")


def objective(instance, solution):
    if sorted(solution.tolist()) != list(range(12)):
        raise Infeasible("the order is not a permutation of the jobs")
    ends = np.cumsum(instance.data["durations"][solution])
    return float((instance.data["worths"][solution] * ends).sum())
"""

TINY_BASELINE = """
def priority(durations, worths):
    return -durations
"""


@pytest.fixture(scope="session")
def tiny_problem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete problem folder whose evaluation takes a millisecond: order jobs, least weighted completion time."""
    folder = tmp_path_factory.mktemp("content") / "tiny"
    (folder / "baselines").mkdir(parents=True)
    (folder / "problem.toml").write_text(TINY_TOML)
    (folder / "problem.py").write_text(TINY_PY)
    (folder / "description.md").write_text("Order the jobs so that heavy and short ones come first.\n")
    (folder / "baselines" / "shortest_first.py").write_text(TINY_BASELINE)
    return folder


@pytest.fixture(scope="session")
def tiny_script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A script for the scripted engine: forty answers, some of them broken, some slow, most of them valid."""
    answers = [
        f"{{Weigh by power {n}.}}\n```python\ndef priority(durations, worths):\n"
        f"    return worths ** {1 + n / 10} / durations ** {0.5 + n / 20}\n```"
        for n in range(34)
    ]
    answers += ["I would rather not.", "```python\ndef priority(durations, worths):\n    return 1 / 0\n```"]
    answers += ["```python\ndef priority(durations, worths):\n    return [float('nan')] * 3\n```"] * 4
    file = tmp_path_factory.mktemp("script") / "answers.json"
    file.write_text(json.dumps([{"text": answer} for answer in answers]))
    return file
