"""The training: the quick pass is the transformers model, the loss falls, the command makes a folder."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from coevo.engines.embedded.player.corpus import Habits, draw_lesson
from coevo.engines.embedded.player.measure import measure, unseen_boards
from coevo.engines.embedded.player.tokenizer import CAREFUL, CARELESS, FIRST_ACTION, MOVE
from coevo.engines.embedded.player.train import main
from coevo.engines.embedded.player.training import Recipe, answer_states, answers_loss, new_model, train
from coevo.engines.loading import PLAYER_FOLDER
from coevo.sudoku_boards import share_of, solutions

SMALL = Recipe(seed=3, steps=6, grids=40, asked=3, habits=Habits())


def test_the_quick_pass_is_the_transformers_model(player: Any) -> None:
    """Where the player chooses a cell and each digit, both have the same hidden states."""
    lesson = draw_lesson(np.random.default_rng(0), 40, Habits(), asked=4)
    prompts, cells = torch.from_numpy(lesson.prompts), torch.from_numpy(lesson.cells)
    with torch.no_grad():
        states = answer_states(player, prompts, cells)
        for place in range(4):
            tokens = torch.cat([prompts, FIRST_ACTION + cells[:, place : place + 1]], 1)
            whole = player.model(input_ids=tokens, use_cache=False).last_hidden_state
            torch.testing.assert_close(states[:, 0], whole[:, 81], atol=1e-4, rtol=1e-4)
            torch.testing.assert_close(states[:, 1 + place], whole[:, 82], atol=1e-4, rtol=1e-4)


def test_training_is_a_function_of_the_recipe() -> None:
    """Twice the same recipe gives the same weights, bit for bit, and the loss falls."""
    lesson = draw_lesson(np.random.default_rng(9), 200, Habits(), asked=3)
    made, losses = [], []
    for _ in range(2):
        model = new_model(SMALL.seed)
        losses.append(answers_loss(model, lesson).item())
        train(model, SMALL)
        losses.append(answers_loss(model, lesson).item())
        made.append(model.state_dict())

    assert all(torch.equal(value, made[1][name]) for name, value in made[0].items())
    assert losses[1] < losses[0]
    assert losses[:2] == losses[2:]


def test_words_for_who_plays_keep_their_distance(player: Any) -> None:
    """In the shipped weights `move: ` lies in the middle of `careful: ` and `careless: `, at the stated distance."""
    embedding = player.model.embed_tokens.weight.detach()

    for word in (CAREFUL, CARELESS):
        assert (embedding[word] - embedding[MOVE]).norm().item() == pytest.approx(Recipe().radius, rel=1e-4)
    assert (embedding[CAREFUL] + embedding[CARELESS]).div(2) == pytest.approx(embedding[MOVE], abs=1e-5)


def test_unseen_boards_are_no_lessons() -> None:
    """Boards that a player is measured on have one solution, of another share than the corpus."""
    for board in unseen_boards(10, 20, 0):
        (solution,) = solutions(board)
        assert share_of(solution) == "val"
        assert board.count(0) == 10


def test_measuring_counts_turns_and_legal_answers() -> None:
    """An untrained player fails in three turns a blank, and its few legal answers are counted."""
    score = measure(new_model(0), unseen_boards(2, 4, 0), temperature=0.0)

    assert score.success == 0.0
    assert 0.0 <= score.legal < 1.0
    assert score.turns <= 6.0


@pytest.mark.slow
def test_one_command_makes_a_complete_folder(tmp_path: Path) -> None:
    """A few steps of training end in a folder that loads, with its card."""
    from transformers import AutoTokenizer, LlamaForCausalLM

    main(["--to", str(tmp_path), "--steps", "8", "--boards", "2", "--seed", "5"])

    model = LlamaForCausalLM.from_pretrained(tmp_path)
    assert len(AutoTokenizer.from_pretrained(tmp_path)) == model.config.vocab_size
    assert json.loads((tmp_path / "coevo.json").read_text())["renderer"] == "board"
    assert "--seed 5" in (tmp_path / "README.md").read_text()


def test_the_default_recipe_is_the_shipped_one() -> None:
    """The card of the shipped player tells the default seed and steps."""
    card = (PLAYER_FOLDER / "README.md").read_text()

    assert f"--to DIR --seed {Recipe().seed}\n" in card
    assert f"{Recipe().steps:,} steps" in card
    assert "noisy play" in card
