"""Processes come and go: here no pool outlives its test, so that every process below this one can be counted."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

import coevo.evaluation.pool as pool_module
from coevo.content import ProblemFolder
from coevo.errors import ContentError
from coevo.evaluation import EvaluationPool

Make = Callable[..., str]
Descendants = Callable[[int], list[int]]
Plain = Callable[[ProblemFolder, str], tuple[float, ...]]
Settled = Callable[[int, int], int]
Variant = Callable[[str], ProblemFolder]

CHAIN = 5
"""Processes per worker: judge, bubblewrap, server, supervisor, waiting candidate."""


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_killed_judge_is_replaced(
    toy: ProblemFolder, heuristic: Make, settled: Settled, by_plain_calls: Plain
) -> None:
    """The candidate it was busy with is asked again of its successor; so are all that follow."""
    with EvaluationPool(toy, workers=1) as pool:
        [judge] = pool._judges
        waiting = pool.submit(heuristic("import time; time.sleep(0.2)"))
        first = judge.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        assert waiting.result().status == "ok"
        assert judge.pid != first
        assert pool.evaluate(toy.baselines()["nearest"]).objectives == by_plain_calls(toy, "search")
        assert settled(os.getpid(), CHAIN) == CHAIN
    assert settled(os.getpid(), 0) == 0


def test_a_killed_sandbox_is_replaced(
    toy: ProblemFolder, heuristic: Make, settled: Settled, descendants: Descendants
) -> None:
    """Bubblewrap dies under a candidate: the judge starts another sandbox and asks again."""
    with EvaluationPool(toy, workers=1) as pool:
        waiting = pool.submit(heuristic("import time; time.sleep(0.2)"))
        bwrap, *_ = descendants(pool._judges[0].pid)
        os.kill(bwrap, signal.SIGKILL)
        assert waiting.result().status == "ok"
        assert settled(os.getpid(), CHAIN) == CHAIN


def test_the_second_death_of_a_judge_is_the_verdict(variant: Variant, heuristic: Make) -> None:
    """A solution that takes the judge down with it twice is a crash; the next candidate is evaluated normally."""
    problem = variant(
        "import os\n"
        "honest = objective\n"
        "def objective(instance, solution):\n"
        "    if solution[1] == 4: os._exit(9)\n"
        "    return honest(instance, solution)"
    )
    with EvaluationPool(problem, workers=1) as pool:
        verdict = pool.evaluate(heuristic(result="unvisited[-1]"))
        assert verdict.status == "crash"
        assert verdict.detail.startswith("the judge died 2 times under this candidate")
        assert pool.evaluate(heuristic(result="unvisited[0]")).status == "ok"


def test_the_second_death_of_a_sandbox_is_the_verdict(
    toy: ProblemFolder, heuristic: Make, settled: Settled, descendants: Descendants
) -> None:
    """So is a candidate under which the server dies twice."""
    with EvaluationPool(toy, workers=1) as pool:
        judge = pool._judges[0].pid
        waiting = pool.submit(heuristic("import time; time.sleep(2)"))
        killed: set[int] = set()
        while len(killed) < 2:
            # Only once the whole chain stands is the sandbox at work on the candidate.
            settled(judge, CHAIN - 1)
            if not (standing := descendants(judge)):
                continue  # on a busy machine the sandbox may have gone again by now
            bwrap, *_ = standing
            os.kill(bwrap, signal.SIGKILL)
            killed.add(bwrap)
        verdict = waiting.result()
        assert verdict.status == "crash"
        assert verdict.detail.startswith("the sandbox died 2 times under this candidate")


def test_close_ends_everything_at_once(toy: ProblemFolder, heuristic: Make, settled: Settled) -> None:
    """Running and queued candidates raise `CancelledError`, no process is left, and closing again is fine."""
    pool = EvaluationPool(toy, workers=2)
    waiting = [pool.submit(heuristic(f"while True: pass  # {number}")) for number in range(20)]
    pool.close()
    for future in waiting:
        assert future.done()
        if (error := future.exception()) is not None:
            assert isinstance(error, CancelledError)
    assert isinstance(waiting[-1].exception(), CancelledError)
    assert settled(os.getpid(), 0) == 0
    pool.close()
    with pytest.raises(RuntimeError, match="closed"):
        pool.submit("")


def test_nothing_survives_a_main_process_that_is_killed(
    toy: ProblemFolder, heuristic: Make, settled: Settled, descendants: Descendants
) -> None:
    """After SIGKILL of the process that owns the pool, its judges and sandboxes end by themselves."""
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom coevo.content import read_problem\n"
        "from coevo.evaluation import EvaluationPool\n"
        "pool = EvaluationPool(read_problem(Path(sys.argv[1])), workers=1)\n"
        "pool.submit(sys.argv[2])\nprint(pool._judges[0].pid, flush=True)\ntime.sleep(60)\n"
    )
    command = [sys.executable, "-c", script, str(toy.path), heuristic("import time; time.sleep(60)")]
    environ = os.environ | {"PYTHONPATH": str(Path(pool_module.__file__).parent.parent.parent)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environ) as owner:
        assert owner.stdout is not None
        judge = int(owner.stdout.readline())
        settled(owner.pid, CHAIN)
        family = [judge, *descendants(judge)]
        owner.kill()
    deadline = time.monotonic() + 10
    while any(map(_is_running, family)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(_is_running, family))
    assert len(family) == CHAIN


def test_unsafe_mode_still_limits_and_filters(
    toy: ProblemFolder, heuristic: Make, settled: Settled, by_plain_calls: Plain
) -> None:
    """Without bubblewrap results are the same, time is limited, and nothing can be written, started or contacted."""
    with EvaluationPool(toy, workers=1, unsafe=True) as pool:
        assert pool.evaluate(toy.baselines()["nearest"]).objectives == by_plain_calls(toy, "search")
        assert pool.evaluate(heuristic("while True: pass")).status == "timeout"
        assert pool.evaluate(heuristic("np.ones(10 * 2**30, np.uint8)")).status == "memory"
        for attack in ("os.fork()", f"open({str(toy.path / 'x')!r}, 'w')", "import socket; socket.socket()"):
            assert "PermissionError in line 4" in pool.evaluate(heuristic(attack)).detail
        assert settled(os.getpid(), CHAIN - 1) == CHAIN - 1
    assert not (toy.path / "x").exists()
    assert settled(os.getpid(), 0) == 0


@pytest.mark.parametrize(
    ("lines", "match"),
    [
        ("raise OSError('broken disk')", r"fails on import: OSError: broken disk"),
        ("def instances(split): return []", "at least one instance in split 'search'"),
        ("def instances(split): raise KeyError(split)", "says KeyError: 'search'"),
    ],
)
def test_a_broken_problem_is_an_error_at_the_start(lines: str, match: str, variant: Variant, settled: Settled) -> None:
    """Faults of the problem folder are raised to the user; nothing stays behind."""
    with pytest.raises(ContentError, match=match):
        EvaluationPool(variant(lines), workers=1)
    assert settled(os.getpid(), 0) == 0
