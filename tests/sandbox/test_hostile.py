"""Every attack gets its verdict, the next candidate is evaluated as usual, and nothing is left running."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from coevo.content import ProblemFolder
from coevo.evaluation import EvaluationPool

Make = Callable[..., str]
Plain = Callable[[ProblemFolder, str], tuple[float, ...]]
Settled = Callable[[int, int], int]

SECRET = "COEVO_TEST_SECRET"
CHAIN = 5
"""Judge, bubblewrap, server, supervisor, and the process that waits for the next candidate."""

NOT_PERMITTED = "PermissionError in line 4: [Errno 1] Operation not permitted"

ATTACKS = {
    "endless loop": ("while True: pass", "timeout", "CPU limit of 0.5 s reached on instance search-0 (1 of 3)"),
    "SIGTERM ignored": (
        "import signal\nfor n in (1, 2, 3, 15): signal.signal(n, signal.SIG_IGN)\nwhile True: pass",
        "timeout",
        "CPU limit of 0.5 s",
    ),
    "sleep": ("import time; time.sleep(60)", "timeout", "still running after 10 s on the clock"),
    "result pipe closed, then a loop": ("os.close(3)\nwhile True: pass", "timeout", "CPU limit of 0.5 s"),
    "exceptions swallowed": (
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        "timeout",
        "CPU limit of 0.5 s",
    ),
    "fork bomb": ("while True: os.fork()", "crash", NOT_PERMITTED),
    "own session": ("os.setsid()", "crash", NOT_PERMITTED),
    "child in its own session": (
        "import subprocess; subprocess.Popen(['/bin/sleep', '60'], start_new_session=True)",
        "crash",
        "PermissionError in line 4",
    ),
    "exec": ("os.execv(sys.executable, [sys.executable])", "crash", "PermissionError in line 4"),
    "thread left behind": (
        "import threading\ndef spin():\n    while True: pass\nthreading.Thread(target=spin).start()",
        "crash",
        "RuntimeError in line 7: can't start new thread",
    ),
    "10 GB at once": ("np.ones(10 * 2**30, np.uint8)", "memory", "out of memory, on instance search-0"),
    "memory bit by bit": ("kept = []\nwhile True: kept.append(bytes(10**6))", "memory", "out of memory"),
    "memory that is no file": ("os.memfd_create('x')", "crash", NOT_PERMITTED),
    "shared memory": (
        "from multiprocessing.shared_memory import SharedMemory; SharedMemory('x', create=True, size=9)",
        "crash",
        "Error in line 4",
    ),
    "os._exit": ("os._exit(0)", "crash", "exited with code 0 before its result, on instance search-0 (1 of 3)"),
    "sys.exit": ("sys.exit(7)", "crash", "SystemExit in line 4: 7"),
    "KeyboardInterrupt": ("raise KeyboardInterrupt", "crash", "KeyboardInterrupt in line 4"),
    "own BaseException": ("class Sly(BaseException): pass\nraise Sly('hello')", "crash", "Sly in line 5: hello"),
    "exception that cannot be printed": (
        "class Mute(Exception):\n    def __str__(self): raise self\nraise Mute",
        "crash",
        "(its message could not be made)",
    ),
    "message with control characters": (r"raise ValueError('a\n\x1b[31mb')", "crash", r"a\n\x1b[31mb"),
    "endless recursion": ("def deeper(): return deeper()\ndeeper()", "crash", "RecursionError in line 4"),
    "segfault": ("import ctypes; ctypes.string_at(0)", "crash", "SIGSEGV on instance search-0"),
    "network": ("import socket; socket.create_connection(('127.0.0.1', 9), 1)", "crash", "PermissionError in line 4"),
    "name service": ("import socket; socket.gethostbyname('example.org')", "crash", "gaierror in line 4"),
    "1 GB in /tmp": ("open('/tmp/x', 'wb').write(bytes(2**30))", "crash", "PermissionError in line 4"),
    "file at the top": ("open('/x', 'w')", "crash", "PermissionError in line 4"),
    "file in /dev": ("open('/dev/x', 'w')", "crash", "PermissionError in line 4"),
    "folder in /tmp": ("os.mkdir('/tmp/x')", "crash", NOT_PERMITTED),
    "file opened to append": ("os.open('/usr/lib/os-release', os.O_WRONLY)", "crash", "PermissionError in line 4"),
    "password file": ("open('/etc/passwd')", "crash", "FileNotFoundError in line 4"),
    "home folder": ("os.listdir(os.path.expanduser('~/.ssh'))", "crash", "FileNotFoundError in line 4"),
    "environment secret": (f"os.environ[{SECRET!r}]", "crash", f"KeyError in line 4: '{SECRET}'"),
    "own environment in /proc": ("open('/proc/self/environ')", "crash", "FileNotFoundError in line 4"),
    "inherited descriptor": (
        "for fd in range(4, 1024):\n"
        "    try: os.fstat(fd)\n"
        "    except OSError: continue\n"
        "    break\n"
        "else: raise LookupError('every descriptor is closed')",
        "crash",
        "LookupError in line 8: every descriptor is closed",
    ),
    "killing the server": ("os.kill(os.getppid(), 9)", "crash", NOT_PERMITTED),
    "starving the server": (
        "import resource; resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (0, 0))",
        "crash",
        "PermissionError in line 4",
    ),
    "pinning the server": ("os.sched_setaffinity(os.getppid(), {0})", "crash", NOT_PERMITTED),
    "signals through a pipe's owner": (
        "import fcntl; fcntl.fcntl(3, fcntl.F_SETOWN, os.getppid())",
        "crash",
        NOT_PERMITTED,
    ),
    "writing the server's memory": ("open(f'/proc/{os.getppid()}/mem', 'r+b')", "crash", "PermissionError in line 4"),
    "reading the server's memory": ("open(f'/proc/{os.getppid()}/mem', 'rb')", "crash", "FileNotFoundError in line 4"),
    "raising a limit": (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
        "crash",
        "Error in line 4",
    ),
    "tracing": (
        "import ctypes\nif ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0) == -1: raise LookupError('not traced')",
        "crash",
        "LookupError in line 5: not traced",
    ),
    "garbage on the result pipe": ("os.write(3, b'garbage')", "invalid", "the result is garbled: unknown record"),
    "pickle on the result pipe": (
        "import pickle; os.write(3, pickle.dumps(os.getcwd))\nos._exit(0)",
        "invalid",
        "the result is garbled",
    ),
    "forged solutions": (
        "import struct; os.write(3, 3 * (b'S' + struct.pack('<BBQ', 4, 1, 5) + bytes(40)) + b'D')\nos._exit(0)",
        "infeasible",
        "a node is visited twice (on instance search-0 (1 of 3))",
    ),
    "forged end": ("os.write(3, b'D')\nos._exit(0)", "invalid", "the result is garbled: 0 of 3 solutions"),
    "more solutions than instances": (
        "import struct; os.write(3, 4 * (b'S' + struct.pack('<BBQ', 4, 1, 0)))",
        "invalid",
        "the result is garbled: more than 3 solutions",
    ),
    "solution announced larger than memory": (
        "import struct; os.write(3, b'S' + struct.pack('<BBQQ', 4, 2, 2**63, 2**63))\nos._exit(0)",
        "invalid",
        "the result is garbled: solution too large",
    ),
    "endless result": (
        "block = bytes(2**20)\nwhile True: os.write(3, block)",
        "invalid",
        "the result is larger than 64 MiB",
    ),
    "source that does not parse": ("x ===== 3", "invalid", "the source does not parse: SyntaxError in line 4"),
}  # fmt: skip

RESULTS = {
    "negative index": ("-1", "infeasible", "a node number is out of range (on instance search-0"),
    "node visited twice": ("1", "infeasible", "a node is visited twice (on instance search-0"),
    "NaN": ("float('nan')", "infeasible", "a tour is 5 node numbers, got float64"),
    "nothing": ("None", "invalid", "the result is not a solution"),
    "object": ("object()", "invalid", "got dtype object"),
    "text": ("'abc'", "invalid", "the result is not a solution: a solution is an array of bool, integers or floats"),
    "complex number": ("1j", "invalid", "got dtype complex128"),
    "array that does not fit": ("np.zeros(10**6)", "crash", "Error: "),
}


@pytest.fixture(scope="module")
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What a careless launcher would let through: a secret in the environment, an open inheritable descriptor."""
    secret_file = tmp_path_factory.mktemp("home") / "secret"
    secret_file.write_text("secret")
    descriptor = os.open(secret_file, os.O_RDONLY)
    os.set_inheritable(descriptor, True)
    os.environ[SECRET] = "hunter2"
    yield
    del os.environ[SECRET]
    os.close(descriptor)


@pytest.fixture(scope="module")
def pool(surroundings: None, toy: ProblemFolder) -> Iterator[EvaluationPool]:
    """One judge, started amid the surroundings."""
    with EvaluationPool(toy, workers=1) as opened:
        yield opened


@pytest.fixture
def unharmed(
    pool: EvaluationPool,
    toy: ProblemFolder,
    by_plain_calls: Plain,
    settled: Settled,
    request: pytest.FixtureRequest,
) -> Callable[[], None]:
    """Checks that the next candidate gets its usual verdict and that no process has stayed behind."""

    def check() -> None:
        # The comment makes it another program, so that the verdict is not remembered.
        following = pool.evaluate(f"{toy.baselines()['nearest']}\n# after {request.node.name}\n")
        assert following.status == "ok"
        assert following.objectives == by_plain_calls(toy, "search")
        # Below the judge, and not below this process: other tests may have left something that is just ending.
        assert settled(pool._judges[0].pid, CHAIN - 1) == CHAIN - 1

    return check


@pytest.mark.parametrize("name", ATTACKS)
def test_attack_gets_its_verdict_and_changes_nothing(
    name: str, pool: EvaluationPool, heuristic: Make, unharmed: Callable[[], None]
) -> None:
    """An attack from within the heuristic fails with exactly its status and a detail that shows which way."""
    body, status, detail = ATTACKS[name]
    verdict = pool.evaluate(heuristic(body))
    assert (verdict.status, verdict.cost) == (status, None)
    assert detail in verdict.detail
    unharmed()


@pytest.mark.parametrize("name", RESULTS)
def test_bad_result_gets_its_verdict(
    name: str, pool: EvaluationPool, heuristic: Make, unharmed: Callable[[], None]
) -> None:
    """What a heuristic returns instead of a node ends as that candidate's failure."""
    result, status, detail = RESULTS[name]
    verdict = pool.evaluate(heuristic(result=result))
    assert verdict.status == status
    assert detail in verdict.detail
    unharmed()


def test_output_goes_nowhere(
    pool: EvaluationPool, heuristic: Make, unharmed: Callable[[], None], capfd: pytest.CaptureFixture[str]
) -> None:
    """300 KB of prints neither fail the candidate nor reach our standard output or error."""
    assert pool.evaluate(heuristic("print('x' * 100_000); print('y' * 100_000, file=sys.stderr)")).status == "ok"
    unharmed()
    assert capfd.readouterr() == ("", "")


def test_zeroing_the_instance_through_the_callers_frame_changes_no_cost(
    pool: EvaluationPool, heuristic: Make, unharmed: Callable[[], None]
) -> None:
    """A candidate that overwrites the coordinates it can reach is priced on the true ones."""
    honest = pool.evaluate(heuristic("pass"))
    forger = pool.evaluate(heuristic("sys._getframe(1).f_locals['instance'].data['points'][:] = 0.0"))
    assert honest.objective is not None
    assert honest.objective > 0
    assert forger.objectives == honest.objectives
    unharmed()


def test_patching_numpy_stays_with_the_candidate(
    pool: EvaluationPool, heuristic: Make, unharmed: Callable[[], None]
) -> None:
    """A numpy function that one candidate replaces is intact for the next, and for the objective."""
    patched = pool.evaluate(heuristic("np.argmin = np.argmax; np.roll = None; np.hypot = lambda x, y: 0 * x"))
    assert patched.objectives == pool.evaluate(heuristic("pass")).objectives
    assert patched.status == "ok"
    unharmed()


def test_global_generators_restart_from_the_instances_seed(pool: EvaluationPool, heuristic: Make) -> None:
    """A candidate that draws from numpy's and Python's global generators gets the same tours every time."""
    lines = "import random", "left = list(unvisited); random.shuffle(left); np.random.shuffle(left)"
    first = pool.evaluate(heuristic(*lines, result="left[0]"))
    second = pool.evaluate(heuristic(*lines, "# again", result="left[0]"))
    assert first.status == "ok"
    assert first.objectives == second.objectives


@pytest.mark.parametrize("target", ["stored optimum", "secret file", "this test", "list of the problem's folder"])
def test_host_files_are_out_of_reach(
    target: str, pool: EvaluationPool, toy: ProblemFolder, heuristic: Make, tmp_path: Path, unharmed: Callable[[], None]
) -> None:
    """Files that exist outside, by their true path, do not exist inside; of the problem there is only its code."""
    secret = tmp_path / "id_ed25519"
    secret.write_text("private")
    commands = {
        "stored optimum": f"open({str(toy.path / 'data' / 'optima.csv')!r})",
        "secret file": f"open({str(secret)!r})",
        "this test": f"open({__file__!r})",
        "list of the problem's folder": (
            f"found = os.listdir({str(toy.path)!r})\nif found == ['problem.py']: raise FileNotFoundError('only code')"
        ),
    }
    verdict = pool.evaluate(heuristic(commands[target]))
    assert verdict.status == "crash"
    assert "FileNotFoundError" in verdict.detail
    unharmed()


def test_nothing_but_the_allow_list_is_importable(pool: EvaluationPool, heuristic: Make) -> None:
    """Installed packages and the rest of coevo are hidden; the libraries a heuristic may use are there."""
    for module in ("torch", "pydantic", "coevo.content", "coevo.evaluation", "site_packages"):
        verdict = pool.evaluate(heuristic(f"import {module}"))
        assert verdict.status == "crash"
        assert "ModuleNotFoundError" in verdict.detail
    assert pool.evaluate(heuristic("import math, heapq, itertools, numpy.linalg, coevo.interfaces")).status == "ok"


def test_other_splits_are_not_in_a_candidates_memory(pool: EvaluationPool, heuristic: Make) -> None:
    """While the search split is evaluated, no instance of a split evaluated before can be found."""
    assert pool.evaluate(heuristic("pass"), "val").status == "ok"
    hunt = (
        "import gc; from coevo.interfaces import Instance",
        "gc.unfreeze()",
        "names = sorted(o.name for o in gc.get_objects() if isinstance(o, Instance))",
        "raise LookupError(str(names))",
    )
    verdict = pool.evaluate(heuristic(*hunt))
    assert "['search-0', 'search-1', 'search-2']" in verdict.detail
