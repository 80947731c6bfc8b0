"""Make the embedded model: corpus, tokenizer, training, measurement, model card, in one command.

python -m coevo.engines.embedded.train --out DIR [--minutes M] [--samples N] [--seed S] [--early DIR]
"""

import argparse
import json
import logging
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coevo.codec import CHILD_TOKEN, PARENT_TOKEN
from coevo.engines.embedded.corpus import Sample, generate
from coevo.engines.embedded.measure import Cell, measure
from coevo.engines.embedded.model_card import Facts, model_card
from coevo.engines.embedded.sampling import sampler
from coevo.engines.embedded.tokenizer import train_tokenizer
from coevo.engines.embedded.training import Report, new_model, train

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

_LOG = logging.getLogger(__name__)
_VOCABULARY = 1280
_TOKENIZER_SAMPLES = 20_000
DESCRIPTION = {
    "schema_version": 1,
    "renderer": "slots",
    "name": "embedded",
    "sampling": {"temperature": 1.0, "top_p": 0.98, "max_tokens": 160},
}
"""`coevo.json` of the model folder: which renderer writes its prompts, and how it is meant to be sampled."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What determines the model, but for the speed of the machine.

    Attributes:
        minutes: CPU minutes of training, one thread.
        samples: Size of the corpus.
        seed: Of corpus, weights, order and measurement.
        cell: Completions asked per cell of the validity table.
    """

    minutes: float = 26.0
    samples: int = 60_000
    seed: int = 0
    cell: int = 60


@dataclass(frozen=True, slots=True)
class Early:
    """A second model, of unfinished training, for studies of what training adds.

    Attributes:
        folder: Written: weights, tokenizer and `coevo.json`; no card.
        share: Share of the training time after which it is taken, in (0, 1). The learning rate is that of the moment.
    """

    folder: Path
    share: float = 0.25


def make_model(folder: Path, recipe: Recipe, early: Sequence[Early] = ()) -> list[Cell]:
    """Train a model into a folder, measure it and write its card.

    Args:
        folder: Written: weights, tokenizer, `coevo.json` and README.md.
        recipe: What to make.
        early: Unfinished models to keep as well.

    Returns:
        The validity table.
    """
    import torch

    torch.set_num_threads(1)
    samples = list(generate(recipe.seed, recipe.samples))
    _LOG.info("corpus of %d samples", len(samples))
    texts = [sample.prompt + sample.child for sample in samples[:_TOKENIZER_SAMPLES]]
    tokenizer = train_tokenizer(texts, _VOCABULARY)
    model = new_model(tokenizer, recipe.seed)
    waiting = sorted(early, key=lambda one: one.share)

    def keep(share: float) -> None:
        while waiting and share >= waiting[0].share:
            _save(model, tokenizer, waiting.pop(0).folder)

    report = train(model, tokenizer, samples, minutes=recipe.minutes, seed=recipe.seed, checkpoint=keep)
    keep(1.0)
    _LOG.info("trained: %s", report)
    _save(model, tokenizer, folder)
    return describe(folder, recipe, report, samples)


def _save(model: "LlamaForCausalLM", tokenizer: "PreTrainedTokenizerFast", folder: Path) -> None:
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / "coevo.json").write_text(json.dumps(DESCRIPTION, indent=2) + "\n")


def describe(folder: Path, recipe: Recipe, report: Report, samples: Sequence[Sample]) -> list[Cell]:
    """Measure the model in a folder and write its card, README.md.

    Args:
        folder: A trained model.
        recipe: How it was made.
        report: What its training did.
        samples: Its corpus.

    Returns:
        The validity table.
    """
    from transformers import AutoTokenizer, LlamaForCausalLM

    model, tokenizer = LlamaForCausalLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    draw = sampler(model, tokenizer, recipe.seed)
    cells = measure(draw, count=recipe.cell, seed=recipe.seed + 1, taught=taught(samples))
    lengths = [len(ids) for ids in tokenizer([sample.child for sample in samples[:2000]])["input_ids"]]
    facts = Facts(
        seed=recipe.seed,
        samples=recipe.samples,
        num_parameters=sum(parameter.numel() for parameter in model.parameters()),
        child_tokens=sum(lengths) / len(lengths) + 1,
        machine=f"{platform.machine()} with {os.cpu_count()} cores",
        report=report,
    )
    (folder / "README.md").write_text(model_card(facts, cells))
    return cells


def taught(samples: Sequence[Sample]) -> set[str]:
    """Every body of the corpus, parents and children, in slots."""
    bodies = {sample.child.strip("\n") for sample in samples}
    for sample in samples:
        bodies.update(block.removesuffix(CHILD_TOKEN).strip("\n") for block in sample.prompt.split(PARENT_TOKEN)[1:])
    return bodies


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    defaults = Recipe()
    parser = argparse.ArgumentParser(prog="python -m coevo.engines.embedded.train", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    parser.add_argument("--minutes", type=float, default=defaults.minutes, help="CPU minutes of training, one thread")
    parser.add_argument("--samples", type=int, default=defaults.samples, help="size of the corpus")
    parser.add_argument("--seed", type=int, default=defaults.seed, help="of corpus, weights, order and measurement")
    parser.add_argument("--cell", type=int, default=defaults.cell, help="completions per cell of the validity table")
    parser.add_argument("--early", type=Path, help="folder for a second, half-trained model")
    parser.add_argument("--early-share", type=float, default=0.25, help="share of the training at which it is taken")
    chosen = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    early = [Early(chosen.early, chosen.early_share)] if chosen.early else []
    make_model(chosen.out, Recipe(chosen.minutes, chosen.samples, chosen.seed, chosen.cell), early)


if __name__ == "__main__":
    main()
