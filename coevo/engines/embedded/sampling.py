"""A plain batched sampler for measuring a model folder: left padding, temperature 1, nucleus of 0.98.

It exists so that training can measure what it made without an engine; searches use an engine.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

Generate = Callable[[Sequence[str]], list[str | None]]
"""Prompts in, completions out in the same order; None for one that was cut off."""

_TOP_P = 0.98
_MAX_TOKENS = 160
_BATCH = 40


def sampler(model: "LlamaForCausalLM", tokenizer: "PreTrainedTokenizerFast", seed: int) -> Generate:
    """A function that completes prompts; successive calls continue one random stream."""
    generator = torch.Generator().manual_seed(seed)

    def generate(prompts: Sequence[str]) -> list[str | None]:
        texts: list[str | None] = []
        for start in range(0, len(prompts), _BATCH):
            texts += _complete(model, tokenizer, prompts[start : start + _BATCH], generator)
        return texts

    return generate


@torch.no_grad()
def _complete(
    model: "LlamaForCausalLM", tokenizer: "PreTrainedTokenizerFast", prompts: Sequence[str], generator: torch.Generator
) -> list[str | None]:
    from transformers import DynamicCache

    encoded = tokenizer(list(prompts), return_tensors="pt", padding=True)
    tokens, mask = encoded["input_ids"], encoded["attention_mask"]
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    cache, drawn = {_cache_name(model): DynamicCache()}, []
    is_done = torch.zeros(len(prompts), dtype=torch.bool)
    for _ in range(_MAX_TOKENS):
        output = model(input_ids=tokens, attention_mask=mask, position_ids=positions, **cache)
        tokens = nucleus_draw(output.logits[:, -1], generator)
        tokens = tokens.masked_fill(is_done[:, None], tokenizer.eos_token_id)
        drawn.append(tokens)
        is_done |= tokens[:, 0] == tokenizer.eos_token_id
        if is_done.all():
            break
        mask = torch.cat([mask, torch.ones_like(tokens)], dim=1)
        positions = positions[:, -1:] + 1
    return [_text(tokenizer, row) for row in torch.cat(drawn, dim=1).tolist()]


def _cache_name(model: "LlamaForCausalLM") -> str:
    """Keyword of the cache: transformers renamed it within version 5."""
    return "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"


def nucleus_draw(logits: Tensor, generator: torch.Generator) -> Tensor:
    """One token per row, from the smallest set of tokens whose probability reaches 0.98.

    Args:
        logits: Shape (rows, vocabulary).
        generator: Source of randomness.

    Returns:
        Shape (rows, 1), int64.
    """
    probabilities, order = torch.softmax(logits.float(), dim=-1).sort(dim=-1, descending=True)
    is_outside = probabilities.cumsum(dim=-1) - probabilities >= _TOP_P
    choice = torch.multinomial(probabilities.masked_fill(is_outside, 0), 1, generator=generator)
    return order.gather(1, choice)


def _text(tokenizer: "PreTrainedTokenizerFast", row: list[int]) -> str | None:
    if tokenizer.eos_token_id not in row:
        return None
    return str(tokenizer.decode(row[: row.index(tokenizer.eos_token_id)]))
