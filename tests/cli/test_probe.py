"""`coevo probe` as a user runs it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from coevo.errors import CoevoError

SMALL = (
    "--steps", "2", "--members", "4", "--children", "2", "--trained", "2", "--held-out", "2", "--evaluations", "8",
    "--workers", "1",
)  # fmt: skip


@pytest.fixture
def script(tmp_path):
    """Twenty answers of different cost, and one that is no program."""
    bodies = [f"return worths ** {n / 10} / durations" for n in range(20)]
    answers = [f"```python\ndef priority(durations, worths):\n    {body}\n```" for body in bodies]
    file = tmp_path / "answers.json"
    file.write_text(json.dumps([{"text": answer} for answer in [*answers, "I would rather not."]]))
    return file


@pytest.fixture
def scripted(coevo, tiny_problem, script, tmp_path):
    """Runs a small probe of the scripted engine with further flags."""

    def run(*flags):
        return coevo(
            "probe", "--problem", tiny_problem, "--model", script, "--engine", "scripted", *SMALL,
            "--runs-dir", tmp_path / "runs", *flags,
        )  # fmt: skip

    return run


def test_a_probe_prints_one_json_document(scripted):
    """`--json`: one document on standard output, which is the run's `result.json`; progress on standard error."""
    done = scripted("--json", "--seed", "2", "--every", "1", "--antithetic", "--guard")
    assert done.exit_code == 0
    result = json.loads(done.stdout)
    written = json.loads((Path(result["run"]) / "result.json").read_text())
    assert {k: v for k, v in written.items() if k != "schema_version"} == result
    budget = result["budget"]
    assert (budget["training"], budget["planned"], budget["evaluation"]) == (16, 16, 64)
    assert budget["parents"] % 16 == 0
    assert Path(result["run"]).name.startswith("probe-tiny-s2-")
    assert "step 2/2" in done.stderr


def test_a_probe_leaves_the_files_of_a_run(scripted):
    """Configuration, environment, events, history and result are where those of a search are."""
    run = Path(json.loads(scripted("--json").stdout)["run"])
    names = {str(file.relative_to(run)) for file in run.rglob("*") if file.is_file()}
    assert {"config.toml", "environment.json", "events.jsonl", "es/history.jsonl", "result.json"} <= names
    assert len((run / "es" / "history.jsonl").read_text().splitlines()) == 2


def test_without_a_terminal_every_step_and_measurement_is_a_line(scripted):
    """The plan first, then the parents; everything is on standard error."""
    lines = scripted("--every", "1").stderr.splitlines()
    assert lines[0] == ("coevo: z-scores over 4 members are rough; 10 or more are usual")
    assert (
        lines[1]
        == "plan: the model writes parents, 2 steps with 16 completions in all, 8 measurements of 8 completions"
    )
    assert lines[2] == "round 1: the model writes candidates for parents"
    rest = lines[lines.index("parents: 2 to train on, 2 held out") + 1 :]
    begins = [line.split(" parents: ")[0].split(" · ")[0] for line in rest]
    measured = [
        f"{when}, {name}" for when in ("before", "during", "after", "fresh") for name in ("trained", "held out")
    ]
    assert begins == [*measured[:2], "step 1/2", *measured[2:4], "step 2/2", *measured[4:]]


@pytest.mark.slow
def test_a_terminated_probe_names_the_command_that_goes_on(tiny_problem, script, tmp_path):
    """SIGTERM ends it as an interrupt does, and resuming it works."""
    flags = ("--problem", tiny_problem, "--model", script, "--engine", "scripted", *SMALL, "--steps", "2000")
    command = [sys.executable, "-m", "coevo", "probe", *map(str, flags), "--runs-dir", str(tmp_path / "runs")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if line.startswith("step 1/"):
            break
    process.terminate()
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    run = next((tmp_path / "runs").iterdir())
    assert said.splitlines()[-1] == f"coevo: interrupted; go on with: coevo resume {run}"
    assert json.loads((run / "result.json").read_text())["status"] == "interrupted"


def test_the_table_has_every_measurement(scripted):
    """Before, after and fresh on both sets, what was spent, and where the run is."""
    shown = scripted().stdout
    for when in ("before", "after", "fresh"):
        for parents in ("trained", "held out"):
            assert f"{when}, {parents}" in shown
    assert "16 of 16 completions in training" in shown
    assert "…" not in shown


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--es", "off"), "expected es dense or low-rank"),
        (("--steps", "-1"), "steps"),
        (("--scope", "none"), "scope none leaves nothing"),
        (("--scope", "("), "expression, got"),
        (("--parents", "nowhere.py"), "two files or more"),
        (("--parents", "nowhere.py", "--parents", "neither.py"), "nowhere.py"),
        (("--members", "3", "--antithetic"), "must be even"),
        (("--seeds", "shared"), "seeds"),
        (("--model", "http://localhost:1/v1#m"), "the server"),
        (("--rank", "2"), "a rank goes with es low-rank"),
        (("--problem", "no-such-problem"), "no-such-problem"),
    ],
)
def test_bad_input_is_refused_in_one_line(scripted, tmp_path, flags, message):
    """Each names what is wrong, and leaves nothing on disk."""
    with pytest.raises(CoevoError, match=message.replace("(", r"\(")) as caught:
        scripted(*flags)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "runs").exists()


def test_a_parent_that_fails_is_refused_by_name(scripted, tmp_path):
    """A file that does not solve the search split cannot be a parent."""
    for name, body in (("good", "-durations"), ("bad", "1 / 0")):
        (tmp_path / f"{name}.py").write_text(f"def priority(durations, worths):\n    return {body}\n")
    with pytest.raises(CoevoError, match=r"--parents .*bad\.py fails on the search split: crash"):
        scripted("--parents", tmp_path / "good.py", "--parents", tmp_path / "bad.py")
    assert not (tmp_path / "runs").exists()


def test_too_few_parents_say_what_to_do(scripted):
    """A model that cannot write enough different parents is named, with the way out."""
    with pytest.raises(CoevoError, match=r"expected 22 valid candidates of different cost.*--parents"):
        scripted("--trained", "11", "--held-out", "11")


@pytest.mark.slow
def test_the_embedded_model_is_measured_exactly_twice_alike(coevo, tmp_path):
    """On the real engine, members that come and go leave no trace: without learning the paired change is exactly 0."""
    least = ("--steps", "1", "--trained", "1", "--held-out", "1", "--evaluations", "4")
    done = coevo("probe", *SMALL, *least, "--no-learns", "--json", "--runs-dir", tmp_path / "runs")
    result = json.loads(done.stdout)
    assert {m["change"] for m in result["measurements"] if m["when"] == "after"} == {0.0}
    assert {m["change"] for m in result["measurements"] if m["when"] == "fresh"} != {0.0}


@pytest.mark.slow
def test_a_probe_is_replayed_and_exported_as_a_search_is(coevo, tmp_path):
    """Its history gives its weights again, bit for bit, and an exported folder has their fingerprint."""
    flags = ["--problem", "kp", "--steps", "2", "--members", "4", "--children", "1", "--evaluations", "4"]
    probed = json.loads(coevo("probe", *flags, "--workers", "1", "--runs-dir", str(tmp_path), "--json").stdout)
    replayed = json.loads(coevo("replay", probed["run"], "--json").stdout)
    assert (replayed["agrees"], replayed["steps"]) == (True, 2)
    assert replayed["fingerprint"] == replayed["recorded"] == probed["fingerprint"]
    exported = json.loads(coevo("export", probed["run"], "--to", str(tmp_path / "out"), "--json").stdout)
    assert (tmp_path / "out" / "model.safetensors").is_file()
    assert exported["fingerprint"] == probed["fingerprint"]
