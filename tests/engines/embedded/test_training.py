"""The optimiser and the loop, on models too small to matter."""

from typing import Any

import numpy as np
import pytest
import torch

from coevo.engines.embedded import training
from coevo.engines.embedded.corpus import Sample, generate
from coevo.engines.embedded.optimizer import Optimizer, orthogonalised
from coevo.engines.embedded.sampling import nucleus_draw, sampler
from coevo.engines.embedded.tokenizer import train_tokenizer


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    """A small corpus."""
    return list(generate(2, 250))


@pytest.fixture(scope="module")
def tokenizer(samples: list[Sample]) -> Any:
    """Its tokenizer."""
    return train_tokenizer([sample.prompt + sample.child for sample in samples], 512)


@pytest.mark.parametrize("shape", [(2, 8, 8), (1, 16, 8), (1, 8, 16)])
def test_newton_schulz_brings_singular_values_near_one(shape: tuple[int, int, int]) -> None:
    """Directions keep their singular vectors and lose their scale."""
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    values = torch.linalg.svdvals(orthogonalised(matrices))

    assert values.min() > 0.3
    assert values.max() < 1.3


def test_orthogonalisation_agrees_with_the_singular_vectors() -> None:
    """The result points where U Vᵀ points."""
    matrix = torch.randn(1, 12, 12, generator=torch.Generator().manual_seed(1))
    u, _, v = torch.linalg.svd(matrix)
    found = torch.nn.functional.cosine_similarity(orthogonalised(matrix).flatten(), (u @ v).flatten(), dim=0)

    assert found > 0.95


def test_weights_select_what_is_learnt(tokenizer: Any, samples: list[Sample]) -> None:
    """The header weighs 0, parents 0.3, the child and its end 1."""
    sample = next(sample for sample in samples if sample.operator == "m1")
    ids, weights = training._encoded(tokenizer, sample)
    child = tokenizer.encode(sample.child)

    assert weights[-len(child) - 1 :] == [1.0] * (len(child) + 1)
    assert weights[-len(child) - 2] == pytest.approx(0.3)
    assert weights[0] == 0.0
    assert len(ids) == len(weights)


def test_padding_carries_no_loss(tokenizer: Any, samples: list[Sample]) -> None:
    """A row's loss does not depend on longer rows beside it."""
    model = training.new_model(tokenizer, 0).eval()
    rows = sorted((training._encoded(tokenizer, sample) for sample in samples[:8]), key=lambda row: len(row[0]))
    alone = training._collated(rows[:1])
    beside = tuple(part[:1] for part in training._collated(rows))

    assert training.weighted_loss(model, beside).item() == pytest.approx(  # type: ignore[arg-type]
        training.weighted_loss(model, alone).item(), rel=1e-5
    )


@pytest.mark.slow
def test_a_few_steps_lower_the_loss(tokenizer: Any, samples: list[Sample]) -> None:
    """Muon and AdamW together learn the corpus's commonest tokens within six steps."""
    model = training.new_model(tokenizer, 0)
    optimizer = Optimizer(model)
    batch = training._collated([training._encoded(tokenizer, sample) for sample in samples[:8]])
    before = training.weighted_loss(model, batch).item()
    for _ in range(6):
        training.weighted_loss(model, batch).backward()  # type: ignore[no-untyped-call]
        optimizer.step(1.0)

    assert training.weighted_loss(model, batch).item() < before - 1


def test_batches_hold_every_row_once_per_pass(tokenizer: Any, samples: list[Sample]) -> None:
    """One pass over the batches is one pass over the corpus."""
    rows = [training._encoded(tokenizer, sample) for sample in samples]
    seen, batches = 0, training._batches(rows, np.random.default_rng(0))
    while seen < len(rows):
        seen += len(next(batches)[0])

    assert seen == len(rows)


def test_nucleus_leaves_out_the_tail() -> None:
    """Tokens beyond 0.98 of the probability are never drawn, all others can be."""
    logits = torch.log(torch.tensor([[0.6, 0.3, 0.085, 0.015]])).repeat(2000, 1)
    drawn = nucleus_draw(logits, torch.Generator().manual_seed(0)).flatten().tolist()

    assert set(drawn) == {0, 1, 2}


@pytest.mark.slow
def test_sampler_is_seeded_and_independent_of_padding(tokenizer: Any, samples: list[Sample]) -> None:
    """The same seed draws the same completions; an untrained model's answers are cut off or text."""
    model = training.new_model(tokenizer, 0).eval()
    prompts = [samples[0].prompt, samples[1].prompt]

    assert sampler(model, tokenizer, 3)(prompts) == sampler(model, tokenizer, 3)(prompts)
