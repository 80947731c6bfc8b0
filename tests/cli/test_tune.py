"""`coevo tune` as a command: it plays, survives kill -9, and refuses what it cannot use in one line."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.slow

PLAYS = [{"text": f"set {row} {column} {digit}"} for row in (1, 5, 9) for column in (2, 4, 8) for digit in (3, 6)]


@pytest.fixture
def script(tmp_path):
    """A script whose answers are moves, some of them legal on some boards."""
    file = tmp_path / "plays.json"
    file.write_text(json.dumps(PLAYS))
    return file


def command(script, runs, *more):
    """A small run of the scripted engine."""
    sizes = ("--generations", "4", "--tasks", "3", "--members", "4", "--every", "2", "--val-tasks", "4")
    given = ("--engine", "scripted", "--model", script, "--runs-dir", runs, *sizes, "--json", *more)
    return [sys.executable, "-m", "coevo", "tune", *map(str, given)]


def events(run):
    """Events without clocks and without what tells of a resume."""
    found = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    return [{k: v for k, v in event.items() if k != "clock"} for event in found if event["kind"] != "resumed"]


def test_a_killed_run_goes_on_to_the_same_end(script, tmp_path):
    """After SIGKILL in the middle, resume gives the events of an uninterrupted run, and its result."""
    whole = subprocess.run(command(script, tmp_path / "whole"), capture_output=True, text=True, check=True)
    killed = subprocess.Popen(command(script, tmp_path / "cut"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        logs = list((tmp_path / "cut").glob("*/events.jsonl"))
        if logs and logs[0].read_text().count('"kind":"episode"') > 6:
            break
        time.sleep(0.005)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    run = next((tmp_path / "cut").iterdir())
    resumed = subprocess.run(
        [sys.executable, "-m", "coevo", "resume", str(run), "--json"], capture_output=True, text=True, check=True
    )
    one, two = json.loads(whole.stdout), json.loads(resumed.stdout)
    assert events(run) == events(next((tmp_path / "whole").iterdir()))
    assert {k: v for k, v in one.items() if k not in ("run", "wall_s")} == {
        k: v for k, v in two.items() if k not in ("run", "wall_s")
    }
    assert one["spent"]["episodes"] == one["spent"]["planned"] == 4 * 3 * 4


def test_a_dry_run_shows_the_plan_and_writes_nothing(script, tmp_path):
    """Episodes of the plan are generations × members × tasks."""
    done = subprocess.run(command(script, tmp_path / "runs", "--dry-run"), capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["episodes"] == 4 * 3 * 4
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["--env", "chess"], "chess"),
        (["--env", "math"], "--model"),
        (["--option", "blanks"], "name=value"),
        (["--option", "blanks=many"], "blanks"),
        (["--option", "blanks=99"], "99"),
        (["--recipe", "sudoku-7"], "sudoku-15"),
        (["--split", "exam"], "exam"),
        (["--tasks", "400"], "--tasks"),
        (["--temperature", "-1"], "temperature"),
        (["--sigma-end", "5"], "sigma_end"),
        (["--model", "embedded"], "heuristics only"),
        (["--model", "no/such"], "no/such"),
        (["--skill-every", "2", "--model", "player"], "skill"),
    ],
)
def test_bad_input_is_one_line_and_nothing_on_disk(arguments, fragment, tmp_path):
    """Exit code 2, and no run directory."""
    done = subprocess.run(
        [sys.executable, "-m", "coevo", "tune", *arguments, "--runs-dir", str(tmp_path / "runs")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert fragment in done.stderr
    assert not (tmp_path / "runs").exists()


def test_the_embedded_player_gets_better_and_its_history_gives_its_weights(tmp_path):
    """On boards it has never seen its score rises; replay reaches the same weights; the best ones can be exported."""
    runs = tmp_path / "runs"
    sizes = ("--generations", "6", "--every", "2", "--split", "test", "--seed", "1")
    tuned = subprocess.run(
        [sys.executable, "-m", "coevo", "tune", *sizes, "--runs-dir", str(runs), "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    result = json.loads(tuned.stdout)
    assert result["chosen"]["test"]["mean"] > result["start"]["test"]["mean"] + 0.15
    replay = subprocess.run(
        [sys.executable, "-m", "coevo", "replay", result["run"], "--json"], capture_output=True, text=True, check=True
    )
    assert json.loads(replay.stdout)["fingerprint"] == result["fingerprint"]
    export = (result["run"], "--generation", "best", "--to", str(tmp_path / "tuned"), "--json")
    exported = subprocess.run(
        [sys.executable, "-m", "coevo", "export", *export], capture_output=True, text=True, check=True
    )
    assert json.loads(exported.stdout)["fingerprint"] == result["best"]["fingerprint"]
    played = subprocess.run(
        [
            *(sys.executable, "-m", "coevo", "eval-agent", "--env", "sudoku", "--model", str(tmp_path / "tuned")),
            *("--split", "test", "--tasks", "8", "--runs-dir", str(runs), "--json"),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(played.stdout)["rows"][0]["splits"]["test"]["mean"]["value"] > 0.5
