"""The README's command, end to end, with the real model, sandbox and problem."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from damage import drop_end

from coevo.records.event_log import read_events

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def coevo(*arguments, cwd):
    """Run the command and return the finished process."""
    return subprocess.run(
        [sys.executable, "-m", "coevo", *map(str, arguments)], cwd=cwd, capture_output=True, text=True
    )


def descendants(ancestor):
    """Every process below one, by number, from /proc."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(stat.parent.name)] = int(fields[1])
    found, grown = {ancestor}, True
    while grown:
        below = {pid for pid, parent in parents.items() if parent in found}
        grown = not below <= found
        found |= below
    return found - {ancestor}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished search with the shipped model, and where it ran."""
    folder = tmp_path_factory.mktemp("work")
    return coevo("search", "--problem", "tsp", "--budget", "90", "--seed", "1", "--json", cwd=folder), folder


def test_a_search_ends_with_a_better_heuristic(finished):
    """A small budget already beats nearest neighbour on the search split, and everything promised is in the result."""
    process, folder = finished
    assert process.returncode == 0, process.stderr
    result = json.loads(process.stdout)
    assert (result["status"], result["budget"]["operator"], result["budget"]["planned"]) == ("done", 90, 90)
    assert result["best"]["objective"] < 7.00437
    assert set(result["splits"]) == {"search", "val", "test20", "test50", "test100"}
    for heuristic in ("nearest_neighbour", "farthest insertion"):
        assert all(0 < result["comparisons"][heuristic][split]["gap"] < 0.4 for split in result["splits"])
    run = folder / result["run"]
    assert (run / "best.py").read_text() == (run / "candidates" / f"{result['best']['candidate']}.py").read_text()
    assert {f.name for f in run.iterdir()} >= {"config.toml", "environment.json", "events.jsonl", "es", "result.json"}


def test_the_best_heuristic_measures_as_reported(finished):
    """`coevo evaluate best.py` gives the objective that the search reported, to the last bit."""
    process, folder = finished
    result = json.loads(process.stdout)
    for split in ("search", "test20"):
        again = coevo(
            "evaluate", f"{result['run']}/best.py", "--problem", "tsp", "--split", split, "--json", cwd=folder
        )
        report = json.loads(again.stdout)
        assert report["objective"] == result["splits"][split]["objective"]
        assert len(report["instances"]) == (64 if split == "search" else 1000)


def test_the_history_replays_to_the_final_fingerprint(finished):
    """From the shipped weights, the recorded steps give the run's weights."""
    from coevo.engines.loading import resolve_model
    from coevo.engines.replay import replay
    from coevo.es.history import updates

    process, folder = finished
    result = json.loads(process.stdout)
    history = (folder / result["run"] / "es" / "history.jsonl").read_text().splitlines(keepends=True)
    fingerprint = replay(resolve_model("embedded"), updates(history)).weights.fingerprint()
    assert f"{fingerprint:016x}" == result["fingerprint"]


def test_ctrl_c_stops_cleanly_and_resume_goes_on(finished, tmp_path):
    """An interrupted run exits with 130, leaves no process, and resumes to the result of one that was not."""
    whole, _ = finished
    command = [sys.executable, "-m", "coevo", "search", "--problem", "tsp", "--budget", "90", "--seed", "1"]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A test runner in the background of a shell ignores interrupts, and its children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not (logs := list(tmp_path.glob("runs/*/events.jsonl"))) or logs[0].stat().st_size < 20_000:
        assert process.poll() is None
        time.sleep(0.02)
    family = descendants(process.pid)
    assert len(family) >= 4  # workers, judges and their sandboxes
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=10)
    assert process.returncode == 130
    assert f"coevo resume {logs[0].parent.relative_to(tmp_path)}" in said
    time.sleep(0.5)
    assert [pid for pid in family if Path(f"/proc/{pid}").exists()] == []
    run = logs[0].parent
    assert json.loads((run / "result.json").read_text())["status"] == "interrupted"
    resumed = coevo("resume", run, "--json", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    first, second = json.loads(whole.stdout), json.loads(resumed.stdout)
    assert {**first, "wall_s": 0, "run": ""} == {**second, "wall_s": 0, "run": ""}
    assert "resumed" in [event["kind"] for event in read_events(run / "events.jsonl")]


def test_resuming_a_finished_run_reports_it_again(finished):
    """Nothing is asked or written a second time."""
    process, folder = finished
    run = folder / json.loads(process.stdout)["run"]
    before = (run / "events.jsonl").read_bytes()
    again = coevo("resume", run, "--json", cwd=folder)
    first, second = json.loads(process.stdout), json.loads(again.stdout)
    assert {**first, "run": ""} == {**second, "run": ""}
    assert Path(second["run"]).samefile(run)
    assert (run / "events.jsonl").read_bytes() == before


def test_a_result_is_not_trusted_beside_a_damaged_log(finished, tmp_path):
    """A finished run whose log lacks its end is not reported again: one line says how to have it whole."""
    process, folder = finished
    run = tmp_path / "run"
    shutil.copytree(folder / json.loads(process.stdout)["run"], run)
    drop_end(run)
    again = coevo("resume", run, "--json", cwd=tmp_path)
    assert (again.returncode, again.stdout) == (2, "")
    assert "to end with the event finished" in again.stderr
    (run / "result.json").unlink()
    assert json.loads(coevo("resume", run, "--json", cwd=tmp_path).stdout)["status"] == "done"


def test_a_finished_run_moves_to_no_address_that_is_none(finished):
    """Although it would do nothing there: what is not understood is said."""
    process, folder = finished
    run = json.loads(process.stdout)["run"]
    again = coevo("resume", run, "--ray", "garbage", cwd=folder)
    assert (again.returncode, again.stdout) == (2, "")
    assert "expected auto, HOST:PORT" in again.stderr


def test_a_search_that_compares_nothing_measures_only_its_own(tiny_problem, tiny_script, tmp_path):
    """The flag leaves out baselines and textbook algorithms; the result is the same without them."""
    flags = ["search", "--problem", tiny_problem, "--budget", "8", "--json"]
    flags += ["--engine", "scripted", "--model", tiny_script]
    whole, alone = (json.loads(coevo(*flags, *more, cwd=tmp_path).stdout) for more in ((), ("--no-compare",)))
    assert whole["comparisons"]
    assert not alone["comparisons"]
    assert (alone["best"], alone["splits"]) == (whole["best"], whole["splits"])


@pytest.mark.parametrize(
    "flags", [["--es", "off"], ["--method", "grammar"], ["--recipe", "esopt-eoh-1000", "--budget", "60"]]
)
def test_every_arm_runs(tmp_path, flags):
    """The frozen model, the training grammar and the published recipe each run to the end of a small budget."""
    process = coevo("search", "--problem", "tsp", "--budget", "60", *flags, "--json", cwd=tmp_path)
    assert process.returncode == 0, process.stderr
    result = json.loads(process.stdout)
    assert (result["status"], result["budget"]["operator"]) == ("done", 60)
    assert result["budget"]["on_top"] == (10 if "--recipe" in flags else 0)


def test_the_users_heuristic_starts_the_population(tmp_path):
    """`--start FILE` evaluates the file and makes it a parent, charging nothing."""
    mine = tmp_path / "mine.py"
    mine.write_text(
        "def select_next_node(current, end, unvisited, distances):\n"
        "    return min(unvisited, key=lambda node: distances[current, node] - 0.3 * distances[end, node])\n"
    )
    process = coevo("search", "--budget", "40", "--start", mine, "--json", cwd=tmp_path)
    assert process.returncode == 0, process.stderr
    run = tmp_path / json.loads(process.stdout)["run"]
    events = list(read_events(run / "events.jsonl"))
    first = next(event for event in events if event["kind"] == "verdict")
    assert first["status"] == "ok"
    assert (Path(run) / "candidates" / f"{first['candidate']}.py").read_text() == mine.read_text()


def test_a_dry_run_of_the_grammar_shows_no_prompts(tmp_path):
    """It reads none, and says so."""
    process = coevo("search", "--budget", "200", "--method", "grammar", "--dry-run", "--json", cwd=tmp_path)
    shown = json.loads(process.stdout)
    assert shown["prompts"] == {}
    assert "reads no prompts" in shown["plan"][-1]


def test_a_dry_run_shows_plan_and_prompts_and_writes_nothing(tmp_path):
    """No model is started, and the directory stays empty."""
    process = coevo("search", "--budget", "200", "--dry-run", cwd=tmp_path)
    assert process.returncode == 0, process.stderr
    assert "first population: 10 completions of i1" in process.stdout
    assert "in all 200 completions charged" in process.stdout
    assert list(tmp_path.iterdir()) == []
