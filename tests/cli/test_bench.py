"""A grid end to end, with the scripted engine: run, kept, interrupted, resumed, checked."""

import csv
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from coevo.errors import CoevoError, ConfigError
from coevo.experiments.cells import lay_out
from coevo.experiments.checking import Verification
from coevo.experiments.grid import read_grid
from coevo.experiments.rows import Row
from coevo.experiments.running import Progress

GRID = """
schema_version = 1
title = "Two sizes of a batch"
problems = ["{problem}"]
budgets = [{budget}]
seeds = 2
comparisons = [["large", "small"]]

[common]
compare = false
es = "off"
model = "{script}"
engine = "scripted"

[arms.small]
batch = 4

[arms.large]
batch = 8
"""
LARGE = 400


@pytest.fixture(scope="module")
def grid(tmp_path_factory, tiny_problem, tiny_script):
    """Writes the grid file; `texts` are replaced in it."""

    def make(texts=(), budget=30):
        text = GRID.format(problem=tiny_problem, script=tiny_script, budget=budget)
        for old, new in dict(texts).items():
            assert old in text
            text = text.replace(old, new)
        file = tmp_path_factory.mktemp("grids") / "grid.toml"
        file.write_text(text)
        return file

    return make


@pytest.fixture(scope="module")
def whole(grid, tmp_path_factory):
    """The output of a larger grid that was not disturbed."""
    folder = tmp_path_factory.mktemp("whole")
    finished = bench(grid(budget=LARGE), "--out", "out", cwd=folder)
    assert finished.returncode == 0, finished.stderr
    return folder / "out"


def bench(*arguments, cwd):
    """Run the command and return the finished process."""
    return subprocess.run(
        [sys.executable, "-m", "coevo", "bench", *map(str, arguments)], cwd=cwd, capture_output=True, text=True
    )


def tables(out):
    """The cells of a grid without what depends on the clock, and its table."""
    timed = ("run", "events_sha256", "wall_s", "evaluator_s", "evaluator_search_s")
    with (out / "cells.csv").open() as file:
        cells = [{name: text for name, text in row.items() if name not in timed} for row in csv.DictReader(file)]
    return cells, (out / "table.csv").read_text()


@pytest.mark.slow
def test_a_grid_is_run_kept_checked_and_rerun(grid, tmp_path):
    """Runs once, keeps what is done, verifies, finds one edited number, and redoes what is asked for."""
    file, out = grid(), tmp_path / "runs" / "grid"
    first = bench(file, "--json", "--jobs", "2", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    found = json.loads(first.stdout)
    assert [cell["state"] for cell in found["cells"]] == ["done"] * 4
    assert {cell["operator"] for cell in found["cells"]} == {30}
    assert first.stderr.count("  done") == 4
    assert {each.name for each in out.iterdir()} == {
        "cells", "cells.csv", "grid.toml", "provenance.json", "table.csv", "table.md"
    }  # fmt: skip
    before = tables(out)
    again = bench(file, cwd=tmp_path)
    assert (again.returncode, again.stderr.count("  kept"), tables(out)) == (0, 4, before)
    checked = bench(file, "--check", cwd=tmp_path)
    assert (checked.returncode, checked.stdout.strip()) == (
        0, "runs/grid: every number follows; 4 of 4 finished cells traced to their events"
    )  # fmt: skip
    objective = found["cells"][0]["objectives"]["test"]
    cells = (out / "cells.csv").read_text()
    (out / "cells.csv").write_text(cells.replace(repr(objective), repr(objective + 0.001), 1))
    checked = bench(file, "--check", cwd=tmp_path)
    assert checked.returncode == 1
    assert f"objective on test is {objective + 0.001!r}, the run says {objective!r}" in checked.stdout
    redone = bench(file, "--rerun", "*/large/s1", cwd=tmp_path)
    assert (redone.returncode, redone.stderr.count("  done"), tables(out)) == (0, 1, before)
    assert len(list(out.glob("cells/tiny/30/large/s1/*/config.toml"))) == 2


@pytest.fixture
def other_problem(tiny_problem, tmp_path):
    """The tiny problem turned round, with other splits, and with a bound that it cannot reach."""
    folder = shutil.copytree(tiny_problem, tmp_path / "content" / "other")
    toml = (folder / "problem.toml").read_text().replace('"tiny"', '"other"').replace('"min"', '"max"')
    (folder / "problem.toml").write_text(toml.replace("test =", "final ="))
    code = (folder / "problem.py").read_text().replace('"test"', '"final"').replace("return float(", "return -float(")
    (folder / "problem.py").write_text(code + "\n\ndef reference(split):\n    return [-1.0] * SPLITS[split][1]\n")
    return folder


@pytest.mark.slow
def test_two_problems_with_skills_are_run_checked_and_rerun(grid, tiny_problem, other_problem, tmp_path):
    """Real runs with splits, senses and gaps of their own follow to the last number; a donor takes its match along."""
    texts = {
        f'["{tiny_problem}"]': f'["{tiny_problem}", "{other_problem}"]',
        "seeds = 2": 'seeds = 1\ncompare_at = ["operator", "total"]',
        "batch = 8": "batch = 4\nskill_every = 1",
        'es = "off"': 'es = "off"\npopulation = 4\nevolution_strategy = { members = 2, children = 1 }',
    }
    file, out = grid(texts, budget=40), tmp_path / "runs" / "grid"
    first = bench(file, "--json", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    rows = {cell["cell"]: cell for cell in json.loads(first.stdout)["cells"]}
    assert len(rows) == 6
    assert {cell["state"] for cell in rows.values()} == {"done"}
    for problem in ("tiny", "other"):
        charged = rows[f"{problem}/40/large/s0"]["skill"]
        assert rows[f"{problem}/40/small@large/s0"]["operator"] == 40 + charged > 40
    assert list(rows["tiny/40/small/s0"]["objectives"]) == ["test"]
    assert rows["other/40/small/s0"]["gaps"]["final"] > 0
    assert "Cells without numbers" not in (out / "table.md").read_text()
    checked = bench(file, "--check", cwd=tmp_path)
    assert (checked.returncode, checked.stdout.strip()) == (
        0, "runs/grid: every number follows; 6 of 6 finished cells traced to their events"
    )  # fmt: skip
    before = tables(out)
    redone = bench(file, "--rerun", "other/*/large/s0", "--jobs", "2", cwd=tmp_path)
    assert (redone.returncode, redone.stderr.count("  done"), tables(out)) == (0, 2, before), redone.stderr
    result = next(out.glob("cells/other/40/small/s0/*/result.json"))
    found = json.loads(result.read_text())
    found["splits"]["final"]["gap"] /= 2
    result.write_text(json.dumps(found))
    checked = bench(file, "--check", cwd=tmp_path)
    assert checked.returncode == 1
    assert "expected splits.final.gap = " in checked.stdout


EVIL = "it broke\x1b[31m\nall is well"


def test_foreign_text_does_not_steer_the_terminal(coevo, grid, monkeypatch):
    """What a cell's process or a run's files say stays on its line, in progress, conclusion and check."""
    file = grid()
    row = Row("tiny", 30, "small", 0, "failed", detail=EVIL)

    def fake(request, begin):
        cell = lay_out(read_grid(file)).cells[0]
        begin([cell])(Progress(cell, "failed", detail=EVIL))
        return [row]

    monkeypatch.setattr("coevo.experiments.bench.bench", fake)
    monkeypatch.setattr("coevo.experiments.checking.verify", lambda out: Verification((EVIL,), 1, 1))
    failed, checked = coevo("bench", file), coevo("bench", file, "--check")
    assert (failed.exit_code, checked.exit_code) == (1, 1)
    shown = r"it broke\x1b[31m\nall is well"
    assert failed.stderr.splitlines() == [
        f"tiny/30/small/s0  failed  {shown}",
        f"coevo: cell tiny/30/small/s0 failed: {shown}",
    ]
    assert checked.stdout.splitlines()[0] == shown


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_grid_goes_on_to_the_same_table(grid, whole, tmp_path, stop):
    """Interrupted or killed in the middle of a cell; nothing runs on, and the second call ends as one call would."""
    file = grid(budget=LARGE)
    process = subprocess.Popen(
        [sys.executable, "-m", "coevo", "bench", str(file), "--out", "parts", "--jobs", "2"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A test runner in the background of a shell ignores interrupts, and its children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not [log for log in tmp_path.glob("parts/cells/**/events.jsonl") if log.stat().st_size > 10_000]:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(stop)
    _, said = process.communicate(timeout=30)
    assert process.returncode == (-stop if stop == signal.SIGKILL else 130)
    assert ("the same command goes on" in said) == (stop != signal.SIGKILL)
    deadline = time.monotonic() + 20
    while workers_below(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert workers_below(tmp_path) == []
    results = [json.loads(file.read_text()) for file in tmp_path.glob("parts/cells/**/result.json")]
    assert "interrupted" in [result["status"] for result in results]
    second = bench(file, "--out", "parts", cwd=tmp_path)
    assert second.returncode == 0, second.stderr
    assert tables(tmp_path / "parts") == tables(whole)


def workers_below(folder):
    """The processes of cells that have this folder as their working directory."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            here = (process / "cwd").resolve() == folder
        except OSError:
            continue
        if here and b"coevo.experiments.worker" in command:
            found.append(process.name)
    return found


@pytest.mark.slow
def test_settings_that_changed_under_a_finished_cell_are_refused(grid, tmp_path):
    """The line names cell, field and both values; a failing arm is reported at the end and marked in the table."""
    first = bench(grid(), "--only", "*/small/s0", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "- tiny/30/large/s0: missing" in (tmp_path / "runs" / "grid" / "table.md").read_text()
    changed = bench(grid({"batch = 4": "batch = 5"}), cwd=tmp_path)
    assert changed.returncode == 2
    assert "cell tiny/30/small/s0 to have batch = 5, as the grid says, got 4" in changed.stderr
    broken = bench(grid({"batch = 8": 'batch = 8\nmodel = "no/such/script"'}), cwd=tmp_path)
    assert broken.returncode == 1
    lines = [line for line in broken.stderr.splitlines() if line.startswith("coevo: cell ")]
    assert [line.split()[2] for line in lines] == ["tiny/30/large/s0", "tiny/30/large/s1"]
    assert "no/such/script" in lines[0]
    assert broken.stdout.startswith("2 of 4 cells done")
    assert "- tiny/30/large/s1: failed: " in (tmp_path / "runs" / "grid" / "table.md").read_text()
    mended = bench(grid(), cwd=tmp_path)
    assert (mended.returncode, mended.stderr.count("  done"), mended.stderr.count("  kept")) == (0, 2, 2)


def test_a_dry_run_lists_the_cells(coevo, grid, tmp_path, monkeypatch):
    """What would run, its state and its cost; nothing is written."""
    monkeypatch.chdir(tmp_path)
    file = grid()
    result = coevo("bench", file, "--dry-run")
    assert result.stdout.splitlines()[0] == "tiny/30/small/s0  missing"
    assert result.stdout.splitlines()[-1] == "4 cells, 120 operator completions; out: runs/grid"
    found = json.loads(coevo("bench", file, "--dry-run", "--only", "*/s1", "--json").stdout)
    assert found["cells"] == {"tiny/30/small/s1": "missing", "tiny/30/large/s1": "missing"}
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("texts", "flags", "fragments"),
    [
        ({"batch = 8": "bach = 8"}, [], ["arms.large on problem", "bach: there is no such field, was batch meant?"]),
        ({'[["large", "small"]]': '[["big", "small"]]'}, [], ["grid.toml", "comparisons", "'big'"]),
        ({"seeds = 2": "seeds = []"}, [], ["grid.toml", "seeds"]),
        ({"[arms.large]": "[arms.small]"}, [], ["grid.toml", "TOML"]),
        ({"batch = 8": "batch = 4"}, [], ["expected different arms, got small and large"]),
        ({}, ["--only", "kp/*"], ["--only", "'kp/*'", "tiny/30/small/s0"]),
        ({}, ["--rerun", "kp/*"], ["--rerun", "'kp/*'"]),
        ({}, ["--check"], ["provenance.json", "run coevo bench first"]),
        ({}, ["--out", "/proc/no"], ["/proc/no"]),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(coevo, grid, tmp_path, monkeypatch, texts, flags, fragments):
    """The message names file or flag, the field, and what came."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CoevoError) as refusal:
        coevo("bench", grid(texts), *flags)
    for fragment in fragments:
        assert fragment in str(refusal.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_refusal_is_one_line_and_exit_code_2(grid, tmp_path):
    """On standard error, as of every command."""
    process = bench(grid({"seeds = 2": "sedes = 2"}), cwd=tmp_path)
    assert process.returncode == 2
    (line,) = process.stderr.strip().splitlines()
    assert line.startswith("coevo: ")
    assert "sedes: there is no such field, was seeds meant?" in line


def test_an_unknown_grid_is_refused(coevo):
    """With the names of the bundled ones."""
    with pytest.raises(ConfigError, match=r"'no-such-grid'; bundled: guided-1000, paper36, quick"):
        coevo("bench", "no-such-grid")
