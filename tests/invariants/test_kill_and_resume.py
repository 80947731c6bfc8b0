"""Law: a run killed at any moment and resumed is the run that was never killed."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from coevo.records.event_log import read_events
from coevo.records.run_directory import RunDirectory

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

KILLS = 20


def search_command(problem: Path, script: Path, runs_dir: Path) -> list[str]:
    """A search with the scripted engine that takes a few seconds."""
    return [
        sys.executable, "-m", "coevo", "search", "--problem", str(problem), "--engine", "scripted",
        "--model", str(script),
        "--budget", "300", "--members", "5", "--seed", "3", "--workers", "2", "--runs-dir", str(runs_dir), "--json",
    ]  # fmt: skip


def story(run: Path) -> list[dict]:
    """The events without clock fields and seams."""
    return [
        {k: v for k, v in e.items() if k != "clock"}
        for e in read_events(run / "events.jsonl")
        if e["kind"] != "resumed"
    ]


def kill_when_grown(command: list[str], run: Path | None, runs_dir: Path, growth: int) -> None:
    """Start a command and kill -9 its process once the event log has grown by so many bytes."""
    before = (run / "events.jsonl").stat().st_size if run else 0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        logs = [run / "events.jsonl"] if run else list(runs_dir.glob("*/events.jsonl"))
        if logs and logs[0].stat().st_size >= before + growth:
            os.kill(process.pid, signal.SIGKILL)
            break
        time.sleep(0.001)
    process.wait()


def test_killed_twenty_times_and_resumed_gives_the_same_log(tiny_problem, tiny_script, tmp_path):
    """Twenty kills at random points change neither the log, nor the history, nor the result, nor the budget."""
    whole_dir, cut_dir = tmp_path / "whole", tmp_path / "cut"
    whole = json.loads(
        subprocess.check_output(search_command(tiny_problem, tiny_script, whole_dir), stderr=subprocess.DEVNULL)
    )
    size = (Path(whole["run"]) / "events.jsonl").stat().st_size
    chance = random.Random(7)
    kill_when_grown(
        search_command(tiny_problem, tiny_script, cut_dir), None, cut_dir, chance.randrange(1, size // KILLS)
    )
    run = next(cut_dir.iterdir())
    resume = [sys.executable, "-m", "coevo", "resume", str(run), "--json"]
    for _ in range(KILLS - 1):
        kill_when_grown(resume, run, cut_dir, chance.randrange(1, 2 * size // KILLS))
    resumed = json.loads(subprocess.check_output(resume, stderr=subprocess.DEVNULL))
    assert story(run) == story(Path(whole["run"]))
    assert RunDirectory(run).history.read_text() == RunDirectory(Path(whole["run"])).history.read_text()
    ignored = {"run", "wall_s"}
    assert {k: v for k, v in resumed.items() if k not in ignored} == {
        k: v for k, v in whole.items() if k not in ignored
    }
    charged = [request["id"] for event in story(run) if event["kind"] == "asked" for request in event["requests"]]
    assert len(charged) == len(set(charged)) == whole["budget"]["operator"] == 300
