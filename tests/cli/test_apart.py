"""Whatever a problem's or an environment's own code prints, standard output holds the command's answer alone."""

import json
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

NOISE = """
import ctypes, os, subprocess, sys


def shout(where):
    print("LOUD print", where)
    print("LOUD original", where, file=sys.__stdout__)
    os.write(1, b"LOUD descriptor\\n")
    ctypes.CDLL(None).puts(b"LOUD library")
    subprocess.run(["echo", "LOUD program"])


shout("import")
"""

LOUD_ENVIRONMENT = (
    NOISE
    + """
from coevo.interfaces import Message, Step, Task


def tasks(split):
    shout("tasks")
    return [Task(f"{split}-{number}", {"sum": number}) for number in range(4)]


def open():
    shout("open")
    return Loud()


class Loud:
    def reset(self, task, seed):
        shout("reset")
        self._sum = task.data["sum"]
        return [Message("user", f"What is {self._sum} and 1?")]

    def step(self, text):
        shout("step")
        return Step(reward=float(text.strip() == str(self._sum + 1)), done=True)

    def close(self):
        shout("close")
"""
)

ENVIRONMENT_TOML = """
schema_version = 1
name = "loud"
title = "Sums"
conversation = "grows"
source = "generated"
licence = "CC0-1.0"
splits = { train = "sums", val = "sums" }
limits = { turns = 2, turn_tokens = 8 }
"""


def answer_of(*arguments, cwd):
    """The JSON on a command's standard output, and what it wrote to standard error."""
    command = [sys.executable, "-m", "coevo", *map(str, arguments), "--json"]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.fixture
def loud_environment(tmp_path):
    """An environment that prints in every way and everywhere; the arguments that have a script play it."""
    folder = tmp_path / "loud"
    folder.mkdir()
    (folder / "environment.py").write_text(LOUD_ENVIRONMENT)
    (folder / "environment.toml").write_text(ENVIRONMENT_TOML)
    script = tmp_path / "sums.json"
    script.write_text(json.dumps([{"text": str(number)} for number in range(4)]))
    return ("--env", folder, "--engine", "scripted", "--model", script, "--tasks", 2)


@pytest.fixture
def loud_problem(tiny_problem, tmp_path):
    """The small problem, which prints on import and when asked for instances or prices."""
    folder = tmp_path / "loud-problem"
    shutil.copytree(tiny_problem, folder)
    (folder / "problem.toml").write_text((tiny_problem / "problem.toml").read_text().replace('"tiny"', '"loud"'))
    code = "import os\n\n" + (tiny_problem / "problem.py").read_text()
    code = code.replace(
        "    seed, count", "    print('LOUD print')\n    os.write(1, b'LOUD descriptor\\n')\n    seed, count"
    )
    (folder / "problem.py").write_text(code + "\n\nprint('LOUD import')\n")
    return folder


def test_commands_on_environments_answer_alone(loud_environment, tmp_path):
    """Tuning, its plan, an evaluation and a landscape: one JSON document each, and every way to print beside it."""
    tune = ("tune", "--generations", 1, "--members", 2)
    for command in (tune, (*tune, "--dry-run"), ("eval-agent",), ("landscape", "--points", 3)):
        _, said = answer_of(*command, *loud_environment, cwd=tmp_path)
        for way in ("print", "original", "descriptor", "library", "program"):
            assert f"LOUD {way}" in said, command


def test_commands_on_problems_answer_alone(loud_problem, tiny_script, tmp_path):
    """A search, its report, its comparison and a measurement: one JSON document each, the prints beside."""
    engine = ("--engine", "scripted", "--model", tiny_script, "--workers", 1)
    result, said = answer_of("search", "--problem", loud_problem, "--budget", 20, *engine, cwd=tmp_path)
    assert "LOUD print" in said
    assert "LOUD descriptor" in said
    run = result["run"]
    answer_of("report", run, "--draw", cwd=tmp_path)
    answer_of("compare", run, run, "--page", tmp_path / "page.html", cwd=tmp_path)
    _, said = answer_of("evaluate", f"{run}/best.py", "--problem", loud_problem, "--workers", 1, cwd=tmp_path)
    assert "LOUD print" in said


def test_a_block_that_fails_gives_standard_output_back(tmp_path):
    """After the block, also after an exception in it, prints of every kind reach standard output again."""
    code = (
        "import os, sys\nfrom coevo.cli.apart import prints_apart\n"
        "print('one')\n"
        "try:\n    with prints_apart():\n        print('two')\n        os.write(1, b'three\\n')\n        1 / 0\n"
        "except ZeroDivisionError:\n    pass\n"
        "print('four', flush=True)\nos.write(1, b'five\\n')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["one", "four", "five"]
    assert sorted(done.stderr.split()) == ["three", "two"]


@pytest.mark.parametrize("closed", ["2>&-", ">&-", ">&- 2>&-"])
def test_closed_streams_are_no_fault(closed):
    """A user may close standard output, standard error or both; the block runs all the same."""
    code = "import os; from coevo.cli.apart import prints_apart\nwith prints_apart():\n    print('two')\nos._exit(7)"
    done = subprocess.run(["sh", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, code], capture_output=True)
    assert (done.returncode, done.stdout) == (7, b"")
