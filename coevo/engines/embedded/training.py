"""The training loop: next-token loss on children (weight 1) and parents (0.3), scheduled by CPU time."""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from coevo.codec import CHILD_TOKEN, PARENT_TOKEN
from coevo.engines.embedded.corpus import Sample
from coevo.engines.embedded.optimizer import Optimizer
from coevo.engines.embedded.tokenizer import END_TOKEN

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

_LOG = logging.getLogger(__name__)
_PARENT_WEIGHT = 0.3
_TOKENS_PER_STEP = 1800
_BUCKET = 1024
_WARMUP_STEPS = 60
_DECAY_SHARE = 0.8
_HELD_OUT = 512

Batch = tuple[Tensor, Tensor, Tensor]
"""Inputs and targets (rows, tokens), and the loss weight of each target; padded on the right."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a training run did."""

    steps: int
    tokens: int
    minutes: float
    num_samples: int
    held_out_loss: float


def new_model(tokenizer: "PreTrainedTokenizerFast", seed: int) -> "LlamaForCausalLM":
    """A Llama of about two million parameters: 4 layers of width 192, 6 heads of 32, tied embedding."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=192,
            intermediate_size=512,
            num_hidden_layers=4,
            num_attention_heads=6,
            num_key_value_heads=6,
            max_position_embeddings=1024,
            tie_word_embeddings=True,
            rms_norm_eps=1e-6,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )


def train(
    model: "LlamaForCausalLM",
    tokenizer: "PreTrainedTokenizerFast",
    samples: Sequence[Sample],
    *,
    minutes: float,
    seed: int,
    checkpoint: Callable[[float], None] = lambda share: None,
) -> Report:
    """Train in place for a time.

    Args:
        model: A fresh model.
        tokenizer: Its tokenizer.
        samples: The corpus; the first few are held out.
        minutes: CPU time of this process, so that load changes nothing; the learning rate falls linearly to 0 over
            its last four fifths.
        seed: Of the order of the samples.
        checkpoint: Called after every step with the share of the time that is over.
    """
    rows = [_encoded(tokenizer, sample) for sample in samples]
    held_out, rows = rows[:_HELD_OUT], rows[_HELD_OUT:]
    optimizer = Optimizer(model)
    start, step, tokens, running = time.process_time(), 0, 0, float("nan")
    model.train()
    for batch in _batches(rows, np.random.default_rng(seed)):
        share = (time.process_time() - start) / (60 * minutes)
        if share >= 1:
            break
        loss = weighted_loss(model, batch)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step(min(1.0, (step + 1) / _WARMUP_STEPS) * min(1.0, (1 - share) / _DECAY_SHARE))
        step, tokens = step + 1, tokens + batch[0].numel()
        running = loss.item() if step == 1 else 0.95 * running + 0.05 * loss.item()
        if step % 50 == 0:
            _LOG.info("step %d, %.0f %%, %d tokens, loss %.3f", step, 100 * share, tokens, running)
        checkpoint(share)
    model.eval()
    elapsed = (time.process_time() - start) / 60
    return Report(step, tokens, elapsed, len(rows), held_out_loss(model, held_out))


def weighted_loss(model: "LlamaForCausalLM", batch: Batch) -> Tensor:
    """Weighted mean of the next-token loss; logits are computed only where the weight is not zero."""
    inputs, targets, weights = batch
    hidden = model.model(input_ids=inputs, use_cache=False).last_hidden_state
    counted = weights > 0
    logits = model.lm_head(hidden[counted])
    losses = torch.nn.functional.cross_entropy(logits, targets[counted], reduction="none")
    return (losses * weights[counted]).sum() / weights[counted].sum()


@torch.no_grad()
def held_out_loss(model: "LlamaForCausalLM", rows: Sequence[tuple[list[int], list[float]]]) -> float:
    """Mean loss per child token, in nats."""
    losses = []
    for start in range(0, len(rows), 32):
        inputs, targets, weights = _collated(rows[start : start + 32])
        losses.append(weighted_loss(model, (inputs, targets, (weights == 1).float())).item())
    return float(np.mean(losses)) if losses else float("nan")


def _encoded(tokenizer: Any, sample: Sample) -> tuple[list[int], list[float]]:
    """Token ids, and the weight of predicting each of them."""
    ids = tokenizer.encode(sample.prompt + sample.child + END_TOKEN)
    child = ids.index(tokenizer.convert_tokens_to_ids(CHILD_TOKEN)) + 1
    parent_token = tokenizer.convert_tokens_to_ids(PARENT_TOKEN)
    parents = ids.index(parent_token) if parent_token in ids else child
    return ids, [0.0] * parents + [_PARENT_WEIGHT] * (child - parents) + [1.0] * (len(ids) - child)


def _batches(rows: Sequence[tuple[list[int], list[float]]], rng: np.random.Generator) -> Iterator[Batch]:
    """Batches of similar length, without end: each pass shuffles, cuts into buckets, sorts within them."""
    while True:
        order = rng.permutation(len(rows))
        for start in range(0, len(order), _BUCKET):
            bucket = sorted(order[start : start + _BUCKET], key=lambda position: len(rows[position][0]))
            groups = _grouped(rows, bucket)
            for position in rng.permutation(len(groups)):
                yield _collated([rows[row] for row in groups[position]])


def _grouped(rows: Sequence[tuple[list[int], list[float]]], order: Sequence[int]) -> list[list[int]]:
    groups: list[list[int]] = [[]]
    for row in order:
        if groups[-1] and (len(groups[-1]) + 1) * len(rows[row][0]) > _TOKENS_PER_STEP:
            groups.append([])
        groups[-1].append(row)
    return groups


def _collated(rows: Sequence[tuple[list[int], list[float]]]) -> Batch:
    length = max(len(ids) for ids, _ in rows)
    tokens = torch.zeros(len(rows), length, dtype=torch.long)
    weights = torch.zeros(len(rows), length)
    for row, (ids, row_weights) in enumerate(rows):
        tokens[row, : len(ids)] = torch.tensor(ids)
        weights[row, : len(ids)] = torch.tensor(row_weights)
    return tokens[:, :-1], tokens[:, 1:], weights[:, 1:]
