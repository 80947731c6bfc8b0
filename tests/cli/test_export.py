import hashlib
import json
import shutil

import numpy as np
import pytest

from coevo.engines.checkpoint import read_headers
from coevo.engines.loading import resolve_model
from coevo.engines.replay import open_weights
from coevo.errors import ConfigError, RunError


def test_the_folder_holds_the_runs_weights_and_serves(make_run, coevo, tmp_path):
    """P29: what is written loads as a model, has the run's fingerprint, and keeps config, tokenizer and card."""
    run, folder = make_run(), tmp_path / "new" / "model"
    result = coevo("export", run.path, "--to", folder, "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    weights = open_weights(folder).weights
    assert f"{weights.fingerprint():016x}" == answer["fingerprint"] == run.result()["fingerprint"]
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    assert (answer["folder"], answer["sha256"]) == (str(folder), {"model.safetensors": digest})
    base = resolve_model("embedded")
    for name in ("config.json", "tokenizer.json", "coevo.json"):
        assert (folder / name).read_bytes() == (base / name).read_bytes()
    assert [file.name for file in folder.parent.iterdir()] == ["model"]


def test_only_what_the_scope_names_has_moved(make_run, coevo, tmp_path):
    """Outside the scope the exported tensors are the base's, to the bit; inside, each has moved."""
    run, folder = make_run(weights={"scope": "mlp"}), tmp_path / "model"
    assert coevo("export", run.path, "--to", folder).exit_code == 0
    before, after = read_headers(resolve_model("embedded")), read_headers(folder)
    assert before.keys() == after.keys()
    for name, info in before.items():
        assert np.array_equal(info.read(), after[name].read()) != ("mlp" in name), name


def test_the_same_run_gives_the_same_bytes(make_run, coevo, tmp_path):
    """Two exports cannot be told apart, and an empty folder is as good as a new one."""
    run, first, second = make_run(), tmp_path / "first", tmp_path / "second"
    second.mkdir()
    for folder in (first, second):
        assert coevo("export", run.path, "--to", folder).exit_code == 0
    assert (first / "model.safetensors").read_bytes() == (second / "model.safetensors").read_bytes()


def test_the_words_name_hash_and_folder(make_run, coevo, tmp_path):
    """The lines of a replay, the hash of each weight file, and where it is."""
    folder = tmp_path / "model"
    lines = coevo("export", make_run().path, "--to", folder).stdout.splitlines()
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    assert lines[-2:] == [f"sha256 of model.safetensors: {digest}", f"written, and read back: {folder}"]


def test_a_folder_that_is_taken_is_left_alone(make_run, coevo, tmp_path):
    """Neither a file nor a folder with anything in it is written over."""
    run, folder = make_run(), tmp_path / "model"
    folder.mkdir()
    (folder / "mine").write_text("mine")
    for taken in (folder, folder / "mine"):
        with pytest.raises(ConfigError, match="which is taken"):
            coevo("export", run.path, "--to", taken)
    assert [file.name for file in folder.iterdir()] == ["mine"]


def test_nothing_is_written_of_a_replay_that_goes_astray(make_run, coevo, tmp_path):
    """Exit code 1 and no folder: weights that are not the run's are not passed off as its."""
    run, folder = make_run(), tmp_path / "model"
    records = [json.loads(line) for line in run.history.read_text().splitlines()]
    records[2]["coefficients"][1] *= 2
    run.history.write_text("".join(json.dumps(record) + "\n" for record in records))
    result = coevo("export", run.path, "--to", folder)
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1] == "nothing written"
    assert not folder.exists()


def test_a_folder_that_does_not_read_back_is_not_left_behind(make_run, coevo, tmp_path, monkeypatch):
    """A file that comes out wrong is found by reading it, and neither it nor the folder it was in stays."""
    from coevo.engines import exporting

    write = exporting.write_checkpoint

    def damaged(file, *arguments):
        write(file, *arguments)
        file.write_bytes(file.read_bytes()[:-1] + b"\x7f")

    monkeypatch.setattr(exporting, "write_checkpoint", damaged)
    run, folder = make_run(), tmp_path / "out" / "model"
    with pytest.raises(RunError, match="after writing, read"):
        coevo("export", run.path, "--to", folder)
    assert list(folder.parent.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "code"), [("master", "F32"), ("stochastic", "BF16"), ("nearest", "BF16")])
def test_sixteen_bit_weights_are_written_in_their_exact_type(make_run, coevo, tmp_path, rule, code):
    """Masters leave as fp32, rounded weights as what they are; either loads again as the run's weights."""
    from coevo.engines.policy import WeightPolicy

    base, folder = tmp_path / "base", tmp_path / "model"
    shutil.copytree(resolve_model("embedded"), base)
    config = json.loads((base / "config.json").read_text())
    (base / "config.json").write_text(json.dumps(config | {"dtype": "bfloat16"}))
    policy = WeightPolicy(scope="linear", update_rule=rule)
    run = make_run(model=str(base), weights={"scope": "linear", "update_rule": rule})
    assert coevo("export", run.path, "--to", folder).exit_code == 0
    assert {info.dtype for info in read_headers(folder).values()} == {code}
    assert f"{open_weights(folder, policy).weights.fingerprint():016x}" == run.result()["fingerprint"]
