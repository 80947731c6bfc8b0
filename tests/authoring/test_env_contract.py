"""The checks as a whole: in their order, in processes of their own, which may die or hang."""

import pytest

from coevo.authoring.env_contract import CHECKS, check_environment
from coevo.authoring.env_isolated import IsolatedEnvironment
from coevo.authoring.env_scaffold import new_environment
from coevo.environments.loading import read_environment

OPTIONS = {"guesses": 6}


@pytest.fixture
def variant(tmp_path):
    """Makes a scaffold with code added to its module, and calls that may take a second."""

    def make(code=""):
        folder = new_environment("my-game", tmp_path)
        with (folder / "environment.py").open("a") as file:
            file.write(f"\n\n{code}\n")
        toml = folder / "environment.toml"
        toml.write_text(toml.read_text().replace("turns = 8", "turns = 8\nstep_s = 1.0"))
        return read_environment(folder)

    return make


@pytest.fixture
def ask(variant):
    """The finding of one check, asked in a process of its own."""

    def asked(check, code):
        with IsolatedEnvironment(variant(code).path, OPTIONS, 60.0) as isolated:
            return isolated.ask(check)

    return asked


def test_every_check_says_something(variant):
    """In the order in which they are listed, each with its description."""
    results = list(check_environment(variant(), OPTIONS))
    assert [result.check for result in results] == [check.name for check in CHECKS]
    assert {result.status for result in results} == {"ok"}
    assert len({check.name for check in CHECKS}) == len(CHECKS)


def test_what_needs_a_failed_check_is_skipped(variant):
    """And says which; what does not need it is checked all the same."""
    results = {r.check: r for r in check_environment(variant("def open(guesses): raise OSError('no')"), OPTIONS)}
    assert results["tasks"].status == "ok"
    assert results["beginnings"].status == "failed"
    assert "OSError: no (environment.py, line" in results["beginnings"].text
    assert results["episodes"].text == "it needs the check beginnings"
    assert results["same again"].text == "it needs the check episodes"


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "while True: pass",
        "import re; re.fullmatch('(a|a)*b', 'a' * 60)",
        "import time; time.sleep(1000)",
    ],
)
def test_a_call_that_never_comes_back_is_ended_and_named(ask, monkeypatch, body):
    """Even one that lets no other thread run, long before the check's own deadline."""
    code = f"def _hang(self, text):\n    {body}\n\n\nFindTheNumber.step = _hang"
    found = ask("episodes", code)
    assert found.status == "failed"
    assert "turn 1, answer '': did not come back within 1 s" in found.text


def test_a_dead_process_is_a_finding(ask):
    """With the call in which it died."""
    found = ask("beginnings", "import os\nFindTheNumber.reset = lambda self, task, seed: os.kill(os.getpid(), 11)")
    assert found.status == "failed"
    assert "killed by SIGSEGV: reset of the task train-20" in found.text


def test_what_works_in_the_main_thread_alone_fails(ask):
    """As it would in a rollout."""
    code = "import signal\nFindTheNumber.step = lambda self, text: signal.signal(signal.SIGALRM, signal.SIG_DFL)"
    assert "main thread" in ask("episodes", code).text


def test_prints_do_not_garble_the_answer(ask):
    """They go elsewhere."""
    code = "_tasks = tasks\ndef tasks(split, **options):\n    print('x' * 100_000)\n    return _tasks(split, **options)"
    assert ask("tasks", code).status == "ok"
