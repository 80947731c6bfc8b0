"""`coevo doctor`: lines, JSON, exit codes, and the whole of it on the models that ship with coevo."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from coevo.experiments.doctor.finding import failed, passed, warned

FINE = (passed("packages", "Python 3.12"), warned("gpu", "none", "nothing to do"), passed("es", "reached"))


@pytest.fixture
def found(monkeypatch):
    """Lets the command find what a test says."""

    def set_to(*findings):
        def examine(asked, begin=None, limits=None):
            yield from findings

        monkeypatch.setattr("coevo.experiments.doctor.examining.examine", examine)

    return set_to


def test_lines_are_aligned_and_say_their_state_in_words(coevo, found):
    """State, name, what was found, and below it what to do; in the end the counts. Warnings are no failure."""
    found(*FINE)
    result = coevo("doctor")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "pass  packages     Python 3.12",
        "warn  gpu          none",
        "                   -> nothing to do",
        "pass  es           reached",
        "2 pass, 1 warn, 0 fail",
    ]


def test_a_failure_is_exit_code_1(coevo, found):
    """And the lines after it are there."""
    found(failed("disk", "full\x1b[31m", "free some room"), *FINE)
    result = coevo("doctor")
    assert result.exit_code == 1
    assert result.stdout.startswith("fail  disk         full\\x1b[31m\n")
    assert result.stdout.endswith("2 pass, 1 warn, 1 fail\n")


@pytest.mark.parametrize(("findings", "code"), [(FINE, 0), ((*FINE, failed("disk", "full", "free some")), 1)])
def test_json_is_one_document(coevo, found, findings, code):
    """Whether it passed, what was asked, and every finding with its four fields."""
    found(*findings)
    result = coevo("doctor", "--json", "--problem", "kp", "--budget", 50, "--runs-dir", "elsewhere")
    assert result.exit_code == code
    answer = json.loads(result.stdout)
    assert answer["passed"] is (code == 0)
    assert {key: answer["asked"][key] for key in ("problem", "env", "model", "budget", "runs_dir")} == {
        "problem": "kp",
        "env": None,
        "model": "embedded",
        "budget": 50,
        "runs_dir": "elsewhere",
    }
    assert [set(check) for check in answer["checks"]] == [{"name", "state", "found", "advice"}] * len(findings)


def run(*arguments, cwd, **environment):
    """The command as a user runs it, with temporary files in a folder of the test's."""
    (cwd / "temporary").mkdir(exist_ok=True)
    environ = {**os.environ, "TMPDIR": str(cwd / "temporary"), **environment}
    command = [sys.executable, "-m", "coevo", "doctor", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=environ, timeout=560, check=False)


def left_behind(cwd):
    """Processes that were started with the test's temporary folder, and files in the folders of the test."""
    own = f"TMPDIR={cwd / 'temporary'}".encode()
    processes = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                told = (folder / "environ").read_bytes()
            except OSError:
                continue
            if own in told:
                processes.append(folder.name)
    return processes, [path.name for path in cwd.rglob("*")]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--problem", "nowhere"], "expected the name of a problem"),
        (["--model", "./nowhere"], "no such folder"),
        (["--budget", "many"], "budget"),
        (["--engine", "magic"], "engine"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tmp_path, arguments, words):
    """Nothing is examined, and nothing is written."""
    done = run(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr
    assert left_behind(tmp_path) == ([], ["temporary"])


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_search_with_the_embedded_model_would_work_here(tmp_path):
    """Every check is run for real on tsp, and passes, but for a GPU or cores that a machine need not have."""
    done = run("--problem", "tsp", cwd=tmp_path, COEVO_VLLM_PYTHON="")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    *lines, counts = done.stdout.splitlines()
    states = {line[6:19].strip(): line[:4] for line in lines if not line.startswith(" ")}
    names = [
        "packages",
        "extras",
        "processor",
        "gpu",
        "memory",
        "disk",
        "kernels",
        "sandbox",
        "problem",
        "engine",
        "es",
    ]
    assert list(states) == names
    assert {states[name] for name in ("packages", "sandbox", "problem", "engine", "es")} == {"pass"}
    assert counts.endswith(" 0 fail")
    assert left_behind(tmp_path) == ([], ["temporary"])


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_tuning_run_with_the_player_would_work_here(tmp_path):
    """Every check is run for real on sudoku; one that fails, for a folder that is a file, is the exit code."""
    (tmp_path / "runs").write_text("")
    done = run("--env", "sudoku", "--json", cwd=tmp_path, COEVO_VLLM_PYTHON="")
    assert done.returncode == 1, done.stdout + done.stderr
    answer = json.loads(done.stdout)
    assert answer["passed"] is False
    assert (answer["asked"]["env"], answer["asked"]["model"]) == ("sudoku", "player")
    states = {check["name"]: check["state"] for check in answer["checks"]}
    assert {name for name, state in states.items() if state == "fail"} == {"disk"}
    assert {states[name] for name in ("packages", "environment", "engine", "es")} == {"pass"}
    assert left_behind(tmp_path) == ([], ["temporary", "runs"]) or left_behind(tmp_path) == ([], ["runs", "temporary"])


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_one_that_is_terminated_leaves_nothing_behind(tmp_path):
    """Between two lines, with its worker at work."""
    (tmp_path / "temporary").mkdir()
    command = [sys.executable, "-m", "coevo", "doctor"]
    environ = {**os.environ, "TMPDIR": str(tmp_path / "temporary"), "COEVO_VLLM_PYTHON": ""}
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=environ) as process:
        assert process.stdout.readline().startswith("pass  packages")
        process.terminate()
        assert process.wait(120) == 143
    assert left_behind(tmp_path) == ([], ["temporary"])
