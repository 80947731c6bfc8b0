"""What `coevo tune` says: its plan, its refusals, its lines and its end; with models of one weight and scripts."""

import json
import re
import shlex
from pathlib import Path

import pytest
from aiming import write_environment
from hypothesis import given
from hypothesis import strategies as st
from one_weight_models import install

from coevo.errors import CoevoError, ConfigError
from coevo.learning.suiting import SCRIPT
from coevo.tuning.config import make_tune_config
from coevo.tuning.preview import skill_updates, skill_warnings


@pytest.fixture
def aim(tmp_path):
    """The environment's folder, with a space in its path."""
    return write_environment(tmp_path / "my aim")


@pytest.fixture
def tune(coevo, aim, tmp_path):
    """Runs a small job in that environment with further flags; by default of a script that says one thing."""
    script = tmp_path / "answers.json"
    script.write_text('[{"text": "0.5"}]')

    def run(*flags):
        sizes = ("--generations", 2, "--tasks", 2, "--members", 4, "--val-tasks", 2)
        return coevo("tune", "--env", aim, "--engine", "scripted", "--model", script, *sizes,
                     "--runs-dir", tmp_path / "my runs", *flags)  # fmt: skip

    return run


def test_a_generation_of_equal_scores_says_that_nothing_moves(tune):
    """Once in the line of each such generation; the weights are the first ones."""
    done = tune()
    lines = [line for line in done.stderr.splitlines() if line.startswith("generation ")]
    assert len(lines) == 2
    assert all(line.count("all members scored alike: weights stay") == 1 for line in lines)
    run = Path(re.search(r"^run: (.*)$", done.stdout, re.M)[1])
    result = json.loads((run / "result.json").read_text())
    assert f"chosen by val: the weights after generation 0, fingerprint {result['fingerprint']}" in done.stdout
    assert "last:" not in done.stdout
    assert "coevo export" not in done.stdout


def test_a_generation_that_moves_does_not_say_so(monkeypatch, coevo, aim, tmp_path):
    """Members that score differently move the weights; both fingerprints are told, and the export is a command."""
    install(monkeypatch)
    strategy = ("--members", 8, "--sigma", 0.2, "--sigma-end", 0.05, "--alpha", 0.3, "--tasks", 3, "--every", 2)
    flags = ("tune", "--env", aim, "--model", "one", *strategy, "--runs-dir", tmp_path / "my runs", "--workers", 1)
    results = {}
    for generations in (4, 5, 6, 7, 8):
        done = coevo(*flags, "--generations", generations)
        assert "scored alike" not in done.stderr
        run = re.search(r"^run: (.*)$", done.stdout, re.M)[1]
        result = json.loads((Path(run) / "result.json").read_text())
        best, last = result["best"], f"the weights after generation {generations}, fingerprint {result['fingerprint']}"
        chosen = f"the weights after generation {best['generation']}, fingerprint {best['fingerprint']}"
        assert f"chosen by val: {chosen}\n" in done.stdout
        differs = best["fingerprint"] != result["fingerprint"]
        assert (f"\nlast: {last}\n" in done.stdout) == differs
        command = shlex.split(re.search(r"^as a model folder: (.*)$", done.stdout, re.M)[1])
        assert command == ["coevo", "export", run, "--generation", "best", "--to", "FOLDER"]
        results[differs] = result
    assert results


REFUSED = [
    ("--option", "blanks=60"),
    ("--option", "holes=3"),
    ("--split", "exam"),
    ("--tasks", 400),
    ("--model", "embedded"),
    ("--model", "no/such"),
    ("--env", "chess"),
    ("--env", "math"),
    ("--env", "math", "--model", "player"),
    ("--skill-every", 2),
    ("--engine", "scripted"),
    ("--engine", "scripted", "--model", "nothing.json"),
    ("--scope", "guided"),
    ("--temperature", -1),
]


@pytest.mark.parametrize("flags", REFUSED, ids=lambda flags: " ".join(map(str, flags)))
def test_a_dry_run_refuses_what_a_run_refuses(coevo, tmp_path, monkeypatch, flags):
    """In the same words, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    said = []
    for more in ((), ("--dry-run",)):
        with pytest.raises(CoevoError) as refusal:
            coevo("tune", *flags, *more)
        said.append(str(refusal.value))
    assert said[0] == said[1]
    assert "\n" not in said[0]
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_shows_what_decides_a_run(tune, tmp_path):
    """The numbers that a run has, and the episodes that it plays; nothing is written."""
    flags = ("--split", "test", "--repeats", 2, "--every", 1, "--children", 3, "--seed", 7, "--sigma", 0.5)
    plan = json.loads(tune(*flags, "--dry-run", "--json").stdout)
    assert not (tmp_path / "my runs").exists()
    wanted = {"seed": 7, "generations": 2, "tasks": 2, "members": 4, "children": 3, "sigma": 0.5, "alpha": 5e-4}
    assert {name: plan[name] for name in wanted} == wanted
    assert (plan["engine"], plan["schedule"], plan["splits"]) == (
        "scripted",
        "cosine",
        {"train": 6, "val": 2, "test": 6},
    )
    result = json.loads(tune(*flags, "--json").stdout)
    assert plan["episodes"] == result["spent"]["planned"] == result["spent"]["episodes"] == 2 * 2 * 4 * 3
    assert plan["episodes_to_measure"] == result["spent"]["measuring"]
    shown = tune(*flags, "--dry-run").stdout
    assert all(f"{name.replace('_', ' ')}: " in shown for name in plan)
    assert "splits: train 6, val 2, test 6\n" in shown


def test_a_missing_model_is_told_with_the_ways_to_name_one():
    """Where none ships with coevo: how to fetch one, and how to go without; with a script, what that is."""
    with pytest.raises(
        ConfigError, match=r"expected --model for math: .*hf download Qwen/Qwen3-0.6B, then --model"
    ) as no:
        make_tune_config({"env": "math"})
    assert f"--engine scripted --model answers.json, {SCRIPT}" in str(no.value)
    with pytest.raises(ConfigError, match="expected --model with --engine scripted: the script file") as none:
        make_tune_config({"env": "sudoku", "engine": "scripted"})
    assert SCRIPT in str(none.value)


def test_the_script_that_the_errors_show_is_one(tmp_path):
    """The engine reads it."""
    from coevo.engines.scripted import ScriptedEngine

    file = tmp_path / "answers.json"
    file.write_text(SCRIPT[SCRIPT.index("[") :])
    assert ScriptedEngine.from_file(file).fingerprint()


@given(st.integers(1, 60), st.none() | st.integers(1, 60))
def test_a_skill_that_is_never_brought_up_to_date_is_warned_of(generations, every):
    """Exactly where no generation but the last is a multiple of the interval."""
    config = make_tune_config({"env": "aim", "model": "one", "generations": generations, "skill_every": every})
    updates = [number for number in range(1, generations) if every is not None and number % every == 0]
    assert skill_updates(config) == len(updates)
    assert bool(skill_warnings(config)) == (every is not None and not updates)


def test_the_warning_is_a_line_of_the_run(tune):
    """At its start, on standard error."""
    assert "no update of the skill falls into this run of 2 generations" in tune("--skill-every", 2).stderr
    assert "no update of the skill" not in tune("--skill-every", 1).stderr
