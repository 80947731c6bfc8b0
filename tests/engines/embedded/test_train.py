"""The one command, on a corpus and a budget too small to learn from."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coevo.engines.embedded.corpus import generate
from coevo.engines.embedded.train import Early, Recipe, main, make_model, taught
from coevo.engines.embedded.training import Report

MODULE = "coevo.engines.embedded.train"


def test_an_early_model_is_kept_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first step past its share is kept, as a folder with the same tokenizer; one never reached is the last."""
    import torch
    from safetensors.torch import load_file

    def train_in_three_steps(model: Any, *_: Any, checkpoint: Callable[[float], None], **__: Any) -> Report:
        for share in (0.1, 0.3, 0.6):
            with torch.no_grad():
                model.model.norm.weight.fill_(share)
            checkpoint(share)
        return Report(3, 0, 0.0, 0, 0.0)

    monkeypatch.setattr(f"{MODULE}.train", train_in_three_steps)
    monkeypatch.setattr(f"{MODULE}.describe", lambda *_: [])
    early = [Early(tmp_path / "never", 0.9), Early(tmp_path / "early", 0.25)]
    make_model(tmp_path / "late", Recipe(samples=40), early)
    kept = {folder.name: load_file(folder / "model.safetensors")["model.norm.weight"] for folder in tmp_path.iterdir()}

    assert {name: round(weights.mean().item(), 3) for name, weights in kept.items()} == {
        "early": 0.3, "never": 0.6, "late": 0.6,
    }  # fmt: skip
    for name in ("coevo.json", "tokenizer.json", "config.json"):
        assert (tmp_path / "early" / name).read_bytes() == (tmp_path / "late" / name).read_bytes()


def test_early_flags_reach_the_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--early` keeps one model, after a quarter unless `--early-share` says otherwise; without it none is kept."""
    asked = []
    monkeypatch.setattr(f"{MODULE}.make_model", lambda folder, recipe, early: asked.append(early))
    for flags in ([], ["--early", str(tmp_path)], ["--early", str(tmp_path), "--early-share", "0.5"]):
        main(["--out", "out", *flags])

    assert asked == [[], [Early(tmp_path, 0.25)], [Early(tmp_path, 0.5)]]


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
