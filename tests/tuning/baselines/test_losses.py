"""Losses and their gradients through a model."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from coevo.engines.loading import inspect_folder
from coevo.tuning.baselines.losses import clipped_policy_loss, clipped_value_loss, divergence
from coevo.tuning.baselines.methods import GroupJudge, TurnJudge
from coevo.tuning.baselines.optimiser import make_optimiser
from coevo.tuning.baselines.reading import Reader
from coevo.tuning.baselines.settings import BaselineSettings
from coevo.tuning.baselines.trainee import Trainee
from coevo.tuning.baselines.training import Trainer
from coevo.tuning.baselines.turns import Played, TurnTokens

TURNS = (TurnTokens((5, 6, 7, 8), (9, 10, 1)), TurnTokens((11,), (12,)), TurnTokens((20, 21), (9, 9)))
PLAYED = [Played("t", 1.0, TURNS[:2]), Played("t", 0.0, TURNS[2:])]


def trainer_of(folder, settings, judge):
    """A trainer in double precision, its parameters by name."""
    trainee = Trainee(inspect_folder(folder), scope="full", chat=False)
    head = nn.Linear(16, 1) if judge.has_values else None
    if head is not None:
        nn.init.constant_(head.weight, 0.1)
        nn.init.zeros_(head.bias)
    reference = Reader(trainee.frozen_copy(), 0.7, 0)
    with torch.no_grad():  # away from the reference, so that the divergence has a gradient
        for parameter in reference.model.parameters():
            parameter.mul_(0.9)
    named = {**trainee.learning, **({"value.weight": head.weight, "value.bias": head.bias} if head else {})}
    reader = Reader(trainee.model, 0.7, 0, head)
    return Trainer(reader, reference, make_optimiser(named, settings), judge, settings), named


@pytest.mark.parametrize("method", ["grpo", "ppo"])
def test_gradients_are_those_of_finite_differences(method, llama):
    """Turns of different lengths in one pass, with ratios away from 1: the derivative along random directions fits."""
    settings = BaselineSettings(kl=0.3, minibatch=1, value_weight=0.5, value_clip=5.0, clip=0.9)
    judge = GroupJudge() if method == "grpo" else TurnJudge(settings)
    trainer, named = trainer_of(llama, settings, judge)
    examples = [replace(e, old=e.old - 0.05) for e in trainer.examples(PLAYED)]
    trainer.loss(examples)["loss"].backward()
    rng = np.random.default_rng(4)
    for name in ("model.layers.0.self_attn.q_proj.weight", "model.embed_tokens.weight", "model.norm.weight"):
        parameter = named[name]
        direction = torch.tensor(rng.standard_normal(parameter.shape), dtype=torch.float32)
        expected = float((parameter.grad * direction).sum())
        sides = []
        for sign in (1, -1):
            with torch.no_grad():
                parameter.add_(direction, alpha=sign * 2e-3)
                sides.append(float(trainer.loss(examples)["loss"]))
                parameter.add_(direction, alpha=-sign * 2e-3)
        assert (sides[0] - sides[1]) / 4e-3 == pytest.approx(expected, rel=0.03, abs=3e-3)


def test_padding_does_not_change_what_is_read(llama):
    """A turn read beside longer ones has the log-probabilities and the value that it has alone."""
    trainee = Trainee(inspect_folder(llama), scope="full", chat=False)
    head = nn.Linear(16, 1)
    reader = Reader(trainee.model, 0.7, 0, head)
    with torch.no_grad():
        together = reader.read(TURNS)
        for row, turn in enumerate(TURNS):
            alone = reader.read([turn])
            length = len(turn.answer)
            assert together.mask[row].sum() == length
            assert torch.allclose(together.log_probs[row, :length], alone.log_probs[0], atol=1e-5)
            assert torch.allclose(together.values[row], alone.values[0], atol=1e-5)


def test_a_ratio_beyond_the_bound_has_no_gradient_where_it_would_go_further():
    """The four cases of the clipped loss, by hand."""
    new = torch.tensor([[0.5], [0.5], [-0.5], [-0.5]], requires_grad=True)
    advantages = torch.tensor([1.0, -1.0, 1.0, -1.0])
    loss = clipped_policy_loss(new, torch.zeros(4, 1), advantages, 0.2)
    up, down = float(np.exp(0.5)), float(np.exp(-0.5))
    assert loss[:, 0].tolist() == pytest.approx([-1.2, up, -down, 0.8])
    loss.sum().backward()
    assert new.grad[:, 0].tolist() == pytest.approx([0.0, up, -down, 0.0])


def test_divergence_is_zero_at_the_reference_and_positive_elsewhere():
    """It is never negative, and its gradient vanishes at the reference."""
    new = torch.tensor([[0.0, -1.0, 2.0]], requires_grad=True)
    found = divergence(new, torch.tensor([[0.0, -2.0, 3.0]]))
    assert found[0, 0] == 0
    assert (found[0, 1:] > 0).all()
    found.sum().backward()
    assert new.grad[0, 0] == 0


def test_a_value_is_held_near_what_it_was():
    """Beyond the bound the worse of the two errors counts."""
    found = clipped_value_loss(torch.tensor([2.0, 0.1]), torch.zeros(2), torch.tensor([2.0, 1.0]), 0.2)
    assert found.tolist() == pytest.approx([0.5 * 1.8**2, 0.5 * 0.9**2])


def test_a_step_that_fits_one_minibatch_needs_no_pass_before(llama):
    """The same gradient comes of old log-probabilities that are those of now, known or not."""
    grads = []
    for minibatch in (2, 3):
        settings = BaselineSettings(kl=0.0, minibatch=minibatch)
        trainer, named = trainer_of(llama, settings, GroupJudge())
        examples = trainer.examples(PLAYED)
        assert (examples[0].old is None) == (minibatch == 3)
        trainer.loss(examples)["loss"].backward()
        grads.append(named["model.norm.weight"].grad)
    assert torch.allclose(*grads, atol=1e-6)
