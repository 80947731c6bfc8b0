"""The player's training: one layer of attention taught where players go and what they write.

A prompt is read once for all cells that are asked about, so that a position gives many lessons: every answer sees the
prompt and itself, no other answer. That is the transformers model to the bit of its sums, computed where it is needed.

Three choices make a hundred thousand weights enough. A cell's tokens begin as sums of what they have in common (row,
column, box, digit), each with directions of its own. Rotary positions turn so slowly that cells are told apart by their
tokens. The words `careful: ` and `careless: ` lie at a small, fixed distance on both sides of `move: `, so that a small
step of the weights changes who plays.
"""

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from coevo.engines.embedded.optimizer import Optimizer
from coevo.engines.embedded.player.corpus import Habits, Lesson, draw_lesson
from coevo.engines.embedded.player.tokenizer import (
    CAREFUL,
    CARELESS,
    END,
    FIRST_ACTION,
    FIRST_CELL,
    FIRST_DIGIT,
    MOVE,
    PAD,
    WORDS,
)

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM

_LOG = logging.getLogger(__name__)
_WARMUP_STEPS, _DECAY_SHARE = 60, 0.8
_SIDE_EVERY = 5
_PROMPT = 82


@dataclass(frozen=True, slots=True)
class Recipe:
    """What determines the player.

    Attributes:
        seed: Of weights and lessons.
        steps: Optimiser steps.
        grids: Grids drawn for a step; a quarter of them become positions.
        asked: Cells asked about in a position.
        radius: Distance of the words `careful: ` and `careless: ` from `move: `, in embedding units.
        habits: Who plays.
    """

    seed: int = 0
    steps: int = 2500
    grids: int = 512
    asked: int = 6
    radius: float = 0.1
    habits: Habits = field(default_factory=Habits)


def new_model(seed: int) -> "LlamaForCausalLM":
    """A Llama of about 99,000 parameters: 1 layer of width 64, 4 heads of 16, tied embedding."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(WORDS),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=1,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=96,
            tie_word_embeddings=True,
            rms_norm_eps=1e-6,
            rope_parameters={"rope_theta": 1e12, "rope_type": "default"},
            bos_token_id=None,
            eos_token_id=END,
            pad_token_id=PAD,
        )
    )
    _arrange(model.model.embed_tokens.weight, seed)
    return model


def train(model: "LlamaForCausalLM", recipe: Recipe) -> None:
    """Train in place; on one thread a function of the recipe (and of the libraries' versions)."""
    rng, optimizer = np.random.default_rng(recipe.seed), Optimizer(model, adam_rate=5e-3)
    model.train()
    for step in range(recipe.steps):
        lesson = draw_lesson(rng, recipe.grids, recipe.habits, asked=recipe.asked)
        loss = answers_loss(model, lesson)
        if step % _SIDE_EVERY == 0:
            loss = loss + side_loss(model, lesson, rng)
        loss.backward()  # type: ignore[no-untyped-call]
        left = 1 - step / recipe.steps
        optimizer.step(min(1.0, (step + 1) / _WARMUP_STEPS) * min(1.0, left / _DECAY_SHARE))
        _keep_distance(model.model.embed_tokens.weight, recipe.radius)
        if (step + 1) % 100 == 0:
            _LOG.info("step %d of %d, loss %.4f", step + 1, recipe.steps, loss.item())
    model.eval()


def answers_loss(model: "LlamaForCausalLM", lesson: Lesson) -> Tensor:
    """How far the model is from the players, in nats: for the cell, and three times for the digits."""
    hidden = answer_states(model, torch.from_numpy(lesson.prompts), torch.from_numpy(lesson.cells))
    logits = torch.log_softmax(hidden @ model.lm_head.weight[:FIRST_CELL].T, -1)
    cells = logits[:, 0, FIRST_ACTION : FIRST_ACTION + 81]
    digits = logits[:, 1:, FIRST_DIGIT : FIRST_DIGIT + 9]
    where, written = torch.from_numpy(lesson.where), torch.from_numpy(lesson.digits)
    return _divergence(where, cells).mean() + 3 * _divergence(written, digits).mean()


def side_loss(model: "LlamaForCausalLM", lesson: Lesson, rng: np.random.Generator) -> Tensor:
    """That an answer ends behind its digit, and that no answer has a token of the board in it."""
    prompts, cells = torch.from_numpy(lesson.prompts[:16]), torch.from_numpy(lesson.cells[:16, :1])
    digits = torch.from_numpy(rng.integers(0, 9, cells.shape))
    tokens = torch.cat([prompts, FIRST_ACTION + cells, FIRST_DIGIT + digits], 1)
    logits = model.lm_head(model.model(input_ids=tokens, use_cache=False).last_hidden_state[:, _PROMPT - 1 :])
    answers = torch.logsumexp(logits[..., :FIRST_CELL], -1)
    return (torch.logsumexp(logits, -1) - answers).mean() - torch.log_softmax(logits[:, -1], -1)[:, END].mean()


def answer_states(model: "LlamaForCausalLM", prompts: Tensor, cells: Tensor) -> Tensor:
    """What the model holds behind its last norm where it chooses: a cell, and a digit for each cell asked about.

    Args:
        model: Of one layer.
        prompts: Tokens, shape (positions, 82).
        cells: Shape (positions, asked).

    Returns:
        Shape (positions, 1 + asked, width): at the last token of the prompt, then at the token of each cell as if it
        alone followed the prompt.
    """
    layer, embed = model.model.layers[0], model.model.embed_tokens
    attention, count = layer.self_attn, len(prompts)
    read = embed(prompts)
    asking = torch.cat([read[:, -1:], embed(FIRST_ACTION + cells)], 1)
    context, own = layer.input_layernorm(read), layer.input_layernorm(asking)
    places = torch.tensor([_PROMPT - 1, *[_PROMPT] * cells.shape[1]])
    query = _turned(model, _heads(attention.q_proj(own)), places)
    key = _turned(model, _heads(attention.k_proj(context)), torch.arange(_PROMPT))
    own_key = _turned(model, _heads(attention.k_proj(own)), places)
    scores = torch.einsum("nqhd,nkhd->nhqk", query, key)
    itself = (query * own_key).sum(-1).transpose(1, 2)[..., None]
    # The last token of the prompt is among its keys already.
    itself = itself.masked_fill(torch.arange(1 + cells.shape[1])[None, None, :, None] == 0, float("-inf"))
    shares = torch.softmax(torch.cat([scores, itself], -1) / query.shape[-1] ** 0.5, -1)
    mixed = torch.einsum("nhqk,nkhd->nqhd", shares[..., :-1], _heads(attention.v_proj(context)))
    mixed = mixed + shares[..., -1:].transpose(1, 2) * _heads(attention.v_proj(own))
    hidden = asking + attention.o_proj(mixed.reshape(count, 1 + cells.shape[1], -1))
    hidden = hidden + layer.mlp(layer.post_attention_layernorm(hidden))
    states: Tensor = model.model.norm(hidden)
    return states


def _heads(values: Tensor) -> Tensor:
    return values.view(*values.shape[:2], 4, 16)


def _turned(model: "LlamaForCausalLM", values: Tensor, places: Tensor) -> Tensor:
    """Rotary positions, of shape (places,), applied to heads of shape (positions, places, heads, head width)."""
    cos, sin = model.model.rotary_emb(values, places[None])
    first, second = values.chunk(2, -1)
    turned: Tensor = values * cos[0, :, None] + torch.cat([-second, first], -1) * sin[0, :, None]
    return turned


def _divergence(shares: Tensor, logits: Tensor) -> Tensor:
    """Of a distribution from logarithmic probabilities, over the last dimension."""
    return (torch.xlogy(shares, shares) - shares * logits).sum(-1)


@torch.no_grad()
def _arrange(embedding: Tensor, seed: int) -> None:
    """Let tokens begin as sums of orthogonal directions of rows, columns, boxes and contents."""
    directions, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(64, 64)))
    rows, columns, boxes, contents = np.split(0.35 * directions[:37], (9, 18, 27))
    for cell in range(81):
        row, column = divmod(cell, 9)
        place = rows[row] + columns[column] + boxes[row // 3 * 3 + column // 3]
        embedding[FIRST_ACTION + cell] = torch.from_numpy(place)
        start = FIRST_CELL + 10 * cell
        embedding[start : start + 10] = torch.from_numpy(place + contents)
    embedding[FIRST_DIGIT : FIRST_DIGIT + 9] = torch.from_numpy(2 * contents[1:])


@torch.no_grad()
def _keep_distance(embedding: Tensor, radius: float) -> None:
    """Put the three words for who plays on a line: careful, move in the middle, careless."""
    middle = embedding[[MOVE, CAREFUL, CARELESS]].mean(0)
    side = embedding[CAREFUL] - embedding[CARELESS]
    side = side * (radius / side.norm())
    embedding[MOVE], embedding[CAREFUL], embedding[CARELESS] = middle, middle + side, middle - side
