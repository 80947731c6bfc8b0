"""The one command, on a corpus and a budget too small to learn from."""

import json
from pathlib import Path

import pytest

from coevo.engines.embedded.corpus import generate
from coevo.engines.embedded.train import Recipe, main, taught


@pytest.mark.slow
def test_an_early_model_is_kept_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The half-trained model is a whole folder with the same tokenizer and other weights; training goes on from it."""
    from safetensors.torch import load_file

    monkeypatch.setattr("coevo.engines.embedded.sampling._MAX_TOKENS", 2)
    early, late = tmp_path / "early", tmp_path / "late"
    command = ["--minutes", "0.02", "--samples", "700", "--cell", "1", "--early", str(early), "--early-share", "0.1"]
    main(["--out", str(late), *command])
    before, after = (load_file(folder / "model.safetensors") for folder in (early, late))

    assert {file.name for file in early.iterdir()} == {file.name for file in late.iterdir()} - {"README.md"}
    assert (early / "tokenizer.json").read_bytes() == (late / "tokenizer.json").read_bytes()
    assert before.keys() == after.keys()
    assert all((before[name] != after[name]).any() for name in before)


@pytest.mark.slow
def test_one_command_makes_a_complete_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Corpus, tokenizer, training, measurement and card end in a folder that loads."""
    from transformers import AutoTokenizer, LlamaForCausalLM

    monkeypatch.setattr("coevo.engines.embedded.sampling._MAX_TOKENS", 4)
    main(["--out", str(tmp_path), "--minutes", "0.02", "--samples", "700", "--cell", "2"])

    model = LlamaForCausalLM.from_pretrained(tmp_path)
    assert len(AutoTokenizer.from_pretrained(tmp_path)) == model.config.vocab_size
    assert json.loads((tmp_path / "coevo.json").read_text())["renderer"] == "slots"
    assert "700 samples drawn with seed 0" in (tmp_path / "README.md").read_text()


def test_taught_holds_parents_and_children() -> None:
    """Every body of the corpus counts as taught, stripped of its marks."""
    samples = list(generate(0, 30))
    bodies = taught(samples)

    assert {sample.child.strip("\n") for sample in samples} <= bodies
    assert not any("<p>" in body or "<c>" in body or body.startswith("\n") for body in bodies)
    assert len(bodies) > len(samples)


def test_default_recipe_is_the_shipped_one() -> None:
    """The defaults are what the shipped card says, so that the bare command makes the shipped model."""
    card = (Path(__file__).parents[3] / "coevo" / "engines" / "embedded" / "model" / "README.md").read_text()
    recipe = Recipe()

    assert f"--samples {recipe.samples} --seed {recipe.seed} --minutes {recipe.minutes:.0f}" in card
