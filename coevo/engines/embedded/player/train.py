"""Make the embedded player: lessons, training, measurement, model card, in one command.

python -m coevo.engines.embedded.player.train --to DIR [--seed S] [--steps N] [--boards N]
"""

import argparse
import json
import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from coevo.engines.embedded.player.model_card import Facts, Row, model_card
from coevo.engines.embedded.player.training import Recipe, new_model, train

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM

BLANKS = (5, 10, 15)
DESCRIPTION = {
    "schema_version": 1,
    "renderer": "board",
    "name": "player",
    "sampling": {"temperature": 1.0, "top_p": 1.0, "max_tokens": 8},
}
"""`coevo.json` of the model folder: which renderer writes its prompts, and how it is meant to be sampled."""


def make_player(folder: Path, recipe: Recipe, boards: int) -> list[Row]:
    """Train a player into a folder, measure it and write its card.

    Args:
        folder: Written: weights, tokenizer, `coevo.json` and README.md.
        recipe: What to make.
        boards: Unseen boards to measure it on, for each number of blanks.

    Returns:
        The table of the card.
    """
    import torch

    from coevo.engines.embedded.player.tokenizer import make_tokenizer

    torch.set_num_threads(1)
    start = time.process_time()
    model = new_model(recipe.seed)
    train(model, recipe)
    minutes = (time.process_time() - start) / 60
    model.save_pretrained(folder)
    make_tokenizer().save_pretrained(folder)
    (folder / "coevo.json").write_text(json.dumps(DESCRIPTION, indent=2) + "\n")
    rows = [_row(model, blanks, boards, recipe.seed) for blanks in BLANKS]
    size = sum(parameter.numel() for parameter in model.parameters())
    (folder / "README.md").write_text(model_card(Facts(recipe, size, minutes, boards), rows))
    return rows


def _row(model: "LlamaForCausalLM", blanks: int, count: int, seed: int) -> Row:
    from coevo.engines.embedded.player.measure import measure, unseen_boards
    from coevo.engines.embedded.player.tokenizer import CAREFUL

    boards = unseen_boards(blanks, count, seed)
    return Row(
        blanks,
        greedy=measure(model, boards, temperature=0.0),
        drawn=measure(model, boards, temperature=1.0, seed=seed),
        careful=measure(model, boards, temperature=0.0, word=CAREFUL),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    defaults = Recipe()
    parser = argparse.ArgumentParser(prog="python -m coevo.engines.embedded.player.train", description=__doc__)
    parser.add_argument("--to", type=Path, required=True, help="folder to write")
    parser.add_argument("--seed", type=int, default=defaults.seed, help="of weights, lessons and measurement")
    parser.add_argument("--steps", type=int, default=defaults.steps, help="optimiser steps")
    parser.add_argument("--boards", type=int, default=400, help="unseen boards for each row of the card's table")
    chosen = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    make_player(chosen.to, replace(defaults, seed=chosen.seed, steps=chosen.steps), chosen.boards)


if __name__ == "__main__":
    main()
