import os
import resource
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from coevo.content import ProblemFolder
from coevo.errors import SandboxError
from coevo.sandbox import launcher
from coevo.sandbox.confine import Limits, address_space_bytes
from coevo.sandbox.launcher import Launch, Sandbox, SandboxDiedError, find_bwrap
from coevo.sandbox.mounts import Content
from coevo.sandbox.results import decode

LIMITS = Limits(cpu_s=0.5, wall_s=2.5, memory_bytes=1 << 28, max_result_bytes=1 << 20)


def _launch(problem: ProblemFolder, bwrap: str | None) -> Launch:
    module = vars(problem.load())["__name__"]
    return Launch(Content(problem.path), module, problem.spec.heuristic.function, bwrap=bwrap)


@pytest.fixture(params=["bwrap", "unsafe"])
def sandbox(request: pytest.FixtureRequest, toy: ProblemFolder) -> Iterator[Sandbox]:
    """A running sandbox with the search instances, with and without bubblewrap."""
    opened = Sandbox(_launch(toy, find_bwrap() if request.param == "bwrap" else None))
    opened.load(toy.load().instances("search"), LIMITS)
    yield opened
    opened.stop()


def test_a_candidate_is_run_on_the_loaded_instances_in_order(sandbox: Sandbox, toy: ProblemFolder) -> None:
    """The solutions that come back are those of plain calls; loading others replaces the instances."""
    problem, source = toy.load(), toy.baselines()["nearest"]
    space: dict[str, Callable[..., int]] = {}
    exec(source, space)
    for split in ("search", "val"):
        instances = problem.instances(split)
        sandbox.load(instances, LIMITS)
        outcome = sandbox.run(source)
        claim = decode(outcome.output, max_solutions=len(instances))
        expected = [problem.solve(space["select_next_node"], instance).tolist() for instance in instances]
        assert [solution.tolist() for solution in claim.solutions] == expected
        assert claim.is_complete
        assert (outcome.exit_code, outcome.stopped) == (0, None)
        assert 0 < outcome.cpu_s < LIMITS.cpu_s


def test_a_dead_sandbox_says_so(sandbox: Sandbox, toy: ProblemFolder) -> None:
    """When the process behind it is killed, both questions raise, and stopping it twice is fine."""
    os.kill(sandbox.pid, signal.SIGKILL)
    # Its children are ended with it, not before: until then one of them may still answer.
    os.waitid(os.P_PID, sandbox.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(SandboxDiedError):
        sandbox.run(toy.baselines()["nearest"])
    with pytest.raises(SandboxDiedError):
        sandbox.load(toy.load().instances("val"), LIMITS)
    sandbox.stop()
    sandbox.stop()


def test_instances_come_before_candidates(toy: ProblemFolder) -> None:
    """Running a candidate on nothing is a mistake of the caller."""
    sandbox = Sandbox(_launch(toy, None))
    with pytest.raises(ValueError, match="load instances"):
        sandbox.run("")
    sandbox.stop()


def test_a_problem_that_cannot_be_imported_inside_is_named(variant: Callable[[str], ProblemFolder]) -> None:
    """What only the sandbox lacks shows as an error that quotes the import."""
    problem = variant("import os\nif os.getcwd() == '/tmp': import pydantic")
    with pytest.raises(SandboxError, match=r"problem\.py, but it says ModuleNotFoundError: .*pydantic"):
        Sandbox(_launch(problem, find_bwrap()))


def test_a_bwrap_that_does_not_work_is_refused_with_what_it_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names each executable that was tried, what it said, and the way out."""
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'no permission to create namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(launcher, "_executables", lambda: iter([str(broken)]))
    with pytest.raises(SandboxError, match=r"no permission to create namespace.*--unsafe-no-sandbox"):
        find_bwrap()
    monkeypatch.setattr(launcher, "_executables", lambda: iter([]))
    with pytest.raises(SandboxError, match="found no bwrap executable"):
        find_bwrap()


def test_the_second_executable_is_taken_if_only_it_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system's bubblewrap may be allowed to do what the packaged one is not."""
    good = find_bwrap()
    monkeypatch.setattr(launcher, "_executables", lambda: iter([str(tmp_path / "missing"), good]))
    assert find_bwrap() == good


def test_address_space_is_measured_without_proc() -> None:
    """The bisection agrees with the kernel's own figure to within what the measuring itself maps."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    assert abs(address_space_bytes() - pages * resource.getpagesize()) < 1 << 22
    assert resource.getrlimit(resource.RLIMIT_AS) == before
