"""Checks one after another: what breaks, hangs or dies is a line, the others go on, and nothing stays behind."""

import os
import sys
from pathlib import Path

import pytest
from scripted_server import KEY

from coevo.errors import ConfigError
from coevo.experiments.doctor import checks
from coevo.experiments.doctor.checks import CHECKS, Check, allowed_s
from coevo.experiments.doctor.examining import Attendant, examine
from coevo.experiments.doctor.finding import failed, passed
from coevo.experiments.doctor.subject import Subject
from coevo.experiments.doctor.worker import run

NAMED = {check.name: check for check in CHECKS}
LIMIT_S = 240
HANGING = """#!/bin/sh
case "$*" in *coevo.engines.vllm.worker*) exec sleep 600;; esac
exec {python} "$@"
"""


def processes_naming(text: str) -> list[int]:
    """Every process but this one with a text in its command line or environment."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                told = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
            except OSError:
                continue
            if text.encode() in told:
                found.append(int(folder.name))
    return found


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Where temporary files go, for this process and those it starts."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setenv("COEVO_TEST_PLACE", str(folder))
    return folder


def test_a_check_that_breaks_is_a_line(says, asked):
    """Whatever it raises, and whatever line breaks are in it."""

    def breaks(_: Subject) -> None:
        raise ZeroDivisionError("oh\nno\x1b[31m")

    says(run(Check("odd", breaks, 1), Subject(asked())), "fail", "ZeroDivisionError: oh no\\x1b", advice="report")


def test_an_error_that_is_meant_for_the_user_gives_its_own_advice(says, asked):
    """What stands after its last semicolon."""

    def refuses(_: Subject) -> None:
        raise ConfigError("expected a; b, got c; take d")

    says(run(Check("odd", refuses, 1), Subject(asked())), "fail", "expected a; b, got c", advice="take d")
    assert run(Check("odd", refuses, 1), Subject(asked())).name == "odd"


def test_no_line_holds_a_key(asked):
    """Not even where a server repeats it in its refusal."""
    check = Check("odd", lambda _: failed("odd", f"wrong key {KEY}", f"try another than {KEY}"), 1)
    found = run(check, Subject(asked()), {"COEVO_API_KEY": f" {KEY} "})
    assert (found.found, found.advice) == ("wrong key [COEVO_API_KEY]", "try another than [COEVO_API_KEY]")


def test_a_quantised_model_fails_where_it_is_looked_at(says, asked, altered_model):
    """P19: memory and engine say it, and that quantised weights cannot be perturbed."""
    subject = Subject(asked(model=str(altered_model(quantization_config={"bits": 4}))))
    subject.accelerators = None
    for name in ("memory", "engine"):
        says(run(NAMED[name], subject), "fail", "expected unquantised weights", advice="use the unquantised model")
    subject.close()


def test_checks_that_say_nothing_about_a_run_are_left_out(asked, monkeypatch):
    """A server has no weights to perturb; a search opens no environment; without its variable no vLLM is asked for."""
    monkeypatch.delenv("COEVO_VLLM_PYTHON", raising=False)
    applying = {
        key: [check.name for check in CHECKS if check.applies(run)]
        for key, run in {
            "search": asked(),
            "tuning": asked(env="sudoku"),
            "server": asked(model="http://127.0.0.1:1/v1#tiny"),
        }.items()
    }
    common = ["packages", "extras", "processor", "gpu", "memory", "disk", "kernels", "sandbox"]
    assert applying["search"] == [*common, "problem", "engine", "es"]
    assert applying["tuning"] == [*common, "environment", "engine", "es"]
    assert applying["server"] == [*common, "problem", "server", "engine"]
    assert NAMED["vllm"].applies(asked(engine="vllm"))


def test_reading_a_large_model_takes_time_of_its_own(asked):
    """The limit of what starts an engine grows with the size of the weights."""
    assert allowed_s(NAMED["engine"], asked()) > NAMED["engine"].limit_s
    assert allowed_s(NAMED["disk"], asked()) == NAMED["disk"].limit_s


def test_what_needs_a_check_that_failed_is_not_looked_at(asked, monkeypatch):
    """It warns, says why, and does not wait for the same failure; the others go on."""
    stand_ins = (
        Check("engine", lambda _: None, 1),
        Check("es", lambda _: None, 1, needs="engine"),
        Check("disk", lambda _: None, 1),
    )
    answers = {"engine": failed("engine", "dead", "repair"), "disk": passed("disk", "room")}
    monkeypatch.setattr("coevo.experiments.doctor.examining.CHECKS", stand_ins)
    monkeypatch.setattr(Attendant, "ask", lambda self, check, limit_s: answers[check.name])
    begun: list[str] = []
    findings = {finding.name: finding for finding in examine(asked(), begun.append)}
    assert begun == ["engine", "es", "disk"]
    assert [finding.state for finding in findings.values()] == ["fail", "warn", "pass"]
    assert findings["es"].found == "not looked at, because engine failed"


def test_every_check_is_bounded():
    """In seconds on the clock; names are unique, and what one needs is run before it."""
    names = [check.name for check in CHECKS]
    assert len(set(names)) == len(names)
    for place, check in enumerate(CHECKS):
        assert 0 < check.limit_s <= 900
        assert not check.needs or check.needs in names[:place]
    assert checks.CHECKS is CHECKS


@pytest.mark.slow
def test_an_engine_that_hangs_fails_and_the_others_go_on(says, asked, tmp_path, temporary, monkeypatch):
    """A real start that never ends: it is killed with all it started, and its temporary files are gone."""
    python = tmp_path / "hanging-python"
    python.write_text(HANGING.format(python=sys.executable))
    python.chmod(0o755)
    monkeypatch.setenv("COEVO_VLLM_PYTHON", str(python))
    with Attendant(asked(engine="vllm")) as attendant:
        says(attendant.ask(NAMED["processor"], LIMIT_S), attendant.ask(NAMED["processor"], LIMIT_S).state, "usable")
        says(attendant.ask(NAMED["engine"], 10), "fail", "still running after 10 s", advice="hangs")
        assert processes_naming(str(temporary)) == []
        says(attendant.ask(NAMED["kernels"], LIMIT_S), "pass", "compiled kernels")
    assert processes_naming(str(temporary)) == []
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
def test_a_worker_that_dies_fails_and_is_replaced(says, asked, temporary):
    """With how it ended; the next check has a new one."""
    with Attendant(asked()) as attendant:
        says(attendant.ask(NAMED["kernels"], LIMIT_S), "pass")
        attendant._process.kill()
        says(attendant.ask(NAMED["disk"], LIMIT_S), "fail", "died: exit code -9", advice="memory")
        says(attendant.ask(NAMED["disk"], LIMIT_S), "pass")
    assert processes_naming(str(temporary)) == []
    assert list(temporary.iterdir()) == []
