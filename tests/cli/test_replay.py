import json
import logging
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from coevo.engines.loading import resolve_model
from coevo.errors import CoevoError, ModelError, RunError
from coevo.experiments.probe_config import make_probe_config
from coevo.records.run_directory import RunDirectory
from coevo.searching.api import run_search
from coevo.searching.config import make_config
from coevo.tuning.config import make_tune_config

STRATEGY = {"members": 8, "sigma": 5e-3, "alpha": 2e-3}


def rewrite(run, change):
    """Write the history anew, record by record; `change` alters the plain values of one in place."""
    records = [json.loads(line) for line in run.history.read_text().splitlines()]
    for record in records:
        change(record)
    run.history.write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"evolution_strategy": {**STRATEGY, "antithetic": True, "subspaces": 2}},
        {"evolution_strategy": {**STRATEGY, "subspaces": 4, "subspace_unit": "tile", "z_scores": "separate"}},
        {"weights": {"scope": "linear"}},
        {"weights": {"scope": r"layers\.1\.", "update_rule": "stochastic"}},
    ],
)
def test_a_history_gives_the_weights_of_its_run(make_run, coevo, values):
    """Whatever the strategy and the scope: exit code 0, and both fingerprints are the run's."""
    run = make_run(**values)
    result = coevo("replay", run.path, "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["fingerprint"] == answer["recorded"] == run.result()["fingerprint"]
    assert {**answer, "fingerprint": "", "recorded": ""} == {
        "run": str(run.path),
        "model": str(resolve_model("embedded")),
        "steps": 3,
        "updates": 2,
        "fingerprint": "",
        "recorded": "",
        "missing": 0,
        "parts_at": None,
        "agrees": True,
    }


def test_low_rank_noise_replays(make_run, coevo):
    """A history of low-rank members is applied with their noise."""
    run = make_run(es="low-rank", weights={"scope": "linear"}, evolution_strategy={**STRATEGY, "rank": 2})
    assert coevo("replay", run.path).exit_code == 0


def test_the_words_say_what_was_found(make_run, coevo):
    """Steps, updates, both fingerprints, and a sentence."""
    run = make_run()
    lines = coevo("replay", run.path).stdout.splitlines()
    fingerprint = run.result()["fingerprint"]
    assert lines[2:] == [
        "steps: 3, of which 2 moved the weights",
        f"reached: {fingerprint}",
        f"recorded: {fingerprint}",
        "the history gives the weights of the run, bit for bit",
    ]


@pytest.mark.parametrize("step", [0, 2])
def test_an_edited_history_parts_at_the_edited_step(make_run, coevo, step):
    """A coefficient of another value leads elsewhere: exit code 1, and the step is named."""
    run = make_run()

    def edit(record):
        if record["step"] == step:
            record["coefficients"][0] *= 2

    rewrite(run, edit)
    result = coevo("replay", run.path)
    assert result.exit_code == 1
    assert f"they part at step {step}:" in result.stdout
    assert json.loads(coevo("replay", run.path, "--json").stdout)["parts_at"] == step


def test_a_finished_run_whose_history_lacks_its_last_step_does_not_agree(make_run, coevo, caplog):
    """Every step that is there agrees, and yet the weights are not those of the result."""
    run = make_run()
    lines = run.history.read_text().splitlines(keepends=True)
    run.history.write_text("".join(lines[:-1]))
    result = coevo("replay", run.path)
    assert result.exit_code == 1
    assert "the history is incomplete" in result.stdout
    assert "holds 2 of the run's 3 steps" in caplog.text


def test_a_torn_last_line_is_left_out_with_a_warning(make_run, coevo, caplog):
    """A killed run replays to the step before; that this is not all is said, and is not success."""
    run = make_run(finished=False)
    text = run.history.read_text()
    run.history.write_text(text[:-60])
    with caplog.at_level(logging.WARNING):
        result = coevo("replay", run.path)
    assert result.exit_code == 1, result.output
    assert "steps: 2, of which 1 moved" in result.stdout
    assert "1 are missing" in result.stdout
    assert "history line 3 is cut off and left out" in caplog.text


@pytest.mark.parametrize(
    "spoil",
    [
        lambda lines: lines[1:],
        lambda lines: [lines[0].replace('"directions": [0', f'"directions": [{2**70}')],
        lambda lines: ["[" * 100_000 + "\n"],
        lambda lines: ["\xff\n"],
    ],
    ids=["a gap at the front", "a direction of 70 bits", "a bracket without end", "no JSON"],
)
def test_a_spoilt_history_is_one_line(make_run, coevo, spoil):
    """What cannot be the run's history is refused with the file that holds it, never with a traceback."""
    run = make_run()
    run.history.write_text("".join(spoil(run.history.read_text().splitlines(keepends=True))))
    with pytest.raises(RunError, match=r"history\.jsonl") as caught:
        coevo("replay", run.path)
    assert "\n" not in str(caught.value)


def test_a_run_that_has_not_stepped_yet_is_its_model(make_run, coevo):
    """An interrupted run without a step replays to where it began."""
    run = make_run(steps=0, finished=False)
    answer = json.loads(coevo("replay", run.path, "--json").stdout)
    assert (answer["steps"], answer["agrees"]) == (0, True)


def test_the_history_of_another_model_is_refused(make_run, coevo, tmp_path):
    """The fingerprint of the weights that the run began with decides, not the name of the folder."""
    run, moved = make_run(), tmp_path / "moved"
    shutil.copytree(resolve_model("embedded"), moved)
    assert coevo("replay", run.path, "--model", moved).exit_code == 0
    weights = bytearray((moved / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (moved / "model.safetensors").write_bytes(weights)
    with pytest.raises(RunError, match=r"expected the model that the run began with .* the history of another model"):
        coevo("replay", run.path, "--model", moved)


def test_weights_kept_in_another_type_are_refused(make_run, coevo):
    """A history of rounded 16-bit weights is not replayed on fp32 ones."""
    run = make_run(weights={"update_rule": "nearest", "scope": "linear"})
    rewrite(run, lambda record: record.update(storage="bfloat16"))
    with pytest.raises(RunError, match="kept in bfloat16, as the history says, got float32"):
        coevo("replay", run.path)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"es": "off"}, "--es off; its weights are those of its model"),
        ({"method": "grammar"}, "--method grammar; its weights"),
        ({"engine": "scripted"}, "the scripted engine has no weights"),
    ],
)
def test_a_run_whose_weights_do_not_move_is_refused(make_run, coevo, values, text):
    """There is nothing to replay, and the message says why."""
    run = make_run(steps=0, **values)
    with pytest.raises(RunError, match=text):
        coevo("replay", run.path)


def test_a_damaged_run_is_refused(make_run, coevo, tmp_path):
    """A missing history, a damaged line, a missing beginning, a missing model and a missing run are each told."""
    run = make_run()
    text = run.history.read_text()
    run.history.unlink()
    with pytest.raises(RunError, match=r"the history of 3 steps in .*history\.jsonl, found none"):
        coevo("replay", run.path)
    run.history.write_text(text[40:])
    with pytest.raises(RunError, match=r"history\.jsonl: history line 1: expected one JSON object"):
        coevo("replay", run.path)
    run.history.write_text(text)
    run.events.write_text("")
    with pytest.raises(RunError, match="expected a run that has begun"):
        coevo("replay", run.path)
    with pytest.raises(ModelError, match="no/such"):
        coevo("replay", run.path, "--model", "no/such")
    with pytest.raises(CoevoError, match="does not exist"):
        coevo("replay", tmp_path / "nowhere")


@pytest.mark.slow
def test_a_refusal_is_one_line_and_exit_code_2(tmp_path):
    """From outside, for both commands: nothing on standard output, one line on standard error."""
    for command in (["replay", tmp_path], ["export", tmp_path, "--to", tmp_path / "model"]):
        done = subprocess.run([sys.executable, "-m", "coevo", *map(str, command)], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("coevo: expected a run directory")
        assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_lost_history_is_written_anew(coevo, tmp_path):
    """A finished run whose history is gone gets it back, line for line, the way that the refusal names."""
    strategy = {"members": 2, "children": 2, "sigma": 5e-3, "alpha": 2e-3}
    values = {"problem": "tsp", "budget": 40, "population": 4, "batch": 4, "workers": 1, "compare": False}
    done = run_search(make_config({**values, "evolution_strategy": strategy}), runs_dir=tmp_path)
    run = RunDirectory(Path(done.run))
    lines = run.history.read_text()
    run.history.unlink()
    with pytest.raises(RunError, match=r"delete .*/result\.json and have it completed by: coevo resume"):
        coevo("replay", run.path)
    (run.path / "result.json").unlink()
    assert coevo("resume", run.path).exit_code == 0
    assert run.history.read_text() == lines != ""
    assert coevo("replay", run.path).exit_code == 0


@pytest.mark.parametrize("config", [make_tune_config({"env": "sudoku"}), make_probe_config({"problem": "tsp"})])
def test_a_lost_history_of_another_kind_names_the_result_too(make_run, coevo, config):
    """Whatever kind of run it is, one that has a result is not gone on with while that is there."""
    run = make_run()
    run.save_config(config.model_dump(mode="json"))
    run.history.unlink()
    with pytest.raises(RunError, match=r"delete .*/result\.json and have it completed by: coevo resume"):
        coevo("replay", run.path)


@pytest.mark.parametrize("finished", [True, False])
def test_a_history_that_only_lacks_steps_is_kept(make_run, coevo, caplog, finished):
    """The way out of a short history completes it; it is not to be deleted."""
    run = make_run(finished=finished)
    run.history.write_text("".join(run.history.read_text().splitlines(keepends=True)[:-1]))
    assert coevo("replay", run.path).exit_code == 1
    said = caplog.text.split("3 steps; ")[1]
    assert "history.jsonl" not in said
    assert ("result.json" in said) == finished
