import pytest

from coevo.authoring.isolated import Isolated


@pytest.fixture
def isolated():
    """Opens the worker of a folder; ended with the test."""
    opened = []

    def open_(folder, deadline_s=60.0):
        opened.append(Isolated(folder.path, deadline_s))
        return opened[-1]

    yield open_
    for each in opened:
        each.close()


def test_a_worker_answers_check_after_check(scaffold, isolated):
    """One process serves them all."""
    worker = isolated(scaffold)
    assert worker.ask("module").status == "ok"
    pid = worker._process.pid
    assert worker.ask("instances").status == "ok"
    assert worker._process.pid == pid


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (
            "import os\ndef instances(split):\n    os.write(2, b'out of luck')\n    os._exit(3)",
            "exit code 3: out of luck",
        ),
        ("import os\ndef instances(split): os.kill(os.getpid(), 11)", "killed by SIGSEGV"),
        (
            "import os\ndef instances(split):\n    for fd in range(3, 12):\n        try: os.write(fd, b'\\xff' * 64)\n"
            "        except OSError: pass",
            "it closed or garbled the pipe",
        ),
        ("import os\ndef instances(split): os.closerange(3, 20)", "exit code"),
    ],
)
def test_a_worker_that_dies_is_a_failure_and_is_replaced(variant, isolated, code, words):
    """How it ended and what it said last is the finding; the next question goes to another one."""
    worker = isolated(variant(code=code))
    finding = worker.ask("instances")
    assert finding.status == "failed"
    assert words in finding.text
    assert worker.ask("module").status == "ok"


def test_an_endless_loop_is_a_failure(variant, isolated, monkeypatch):
    """A check has a deadline, and the worker that misses it is gone."""
    monkeypatch.setattr("coevo.authoring.isolated._SLACK_S", 5.0)
    worker = isolated(variant(code="def instances(split):\n    while True: pass"), deadline_s=0.5)
    finding = worker.ask("instances")
    assert finding.status == "failed"
    assert "still running after 0.5 s" in finding.text
    assert worker._process is None


def test_what_a_problem_prints_does_not_garble_the_answer(variant, isolated):
    """Prints go elsewhere; so do many of them."""
    code = "_first = instances\n\n\ndef instances(split):\n    print('x' * 100000)\n    return _first(split)"
    assert isolated(variant(code=code)).ask("instances").status == "ok"


def test_an_exception_is_told_on_one_line_with_its_place(variant, isolated):
    """The author sees which line of the folder it came through."""
    finding = isolated(variant(code="def instances(split):\n    raise ValueError('one\\ntwo')")).ask("instances")
    assert finding.status == "failed"
    assert finding.text.startswith("ValueError: one\\ntwo (problem.py, line ")


def test_closing_twice_is_safe(scaffold):
    """The second time there is nothing to end."""
    worker = Isolated(scaffold.path, 60.0)
    worker.ask("module")
    worker.close()
    worker.close()


def test_instances_without_end_run_out_of_memory_alone(variant, isolated):
    """The worker meets its own limit, and that is the finding; what is only reserved takes no memory here."""
    code = "import numpy as np\ndef instances(split):\n    hoard = []\n    while True: hoard.append(np.empty(1 << 27))"
    finding = isolated(variant(code=code)).ask("instances")
    assert finding.status == "failed"
    assert "MemoryError" in finding.text
