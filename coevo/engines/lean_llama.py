"""A compact decoder for small fp32 Llamas on one CPU thread, without torch: the transformers architecture, faster.

Query, key and value matrices lie stacked in one array, gate and up matrices in another; the checkpoint's tensors are
row ranges of these arrays, so a perturbation written through `arrays` is what is served, and nothing is refreshed.
Rows of low-rank members add their own change to every product, so a whole population answers in one batch. A row's
logits do not depend, to the bit, on its neighbours (see `lean_kernels`).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coevo.engines.lean_kernels import ROW_BLOCK, TOKEN_BLOCK, LlamaArrays, Memory, forward, multiply
from coevo.engines.llama_shape import LlamaShape
from coevo.engines.low_rank import low_rank_rows
from coevo.engines.low_rank_lean import RowFactors
from coevo.interfaces import Member

FloatArray = NDArray[np.float32]


class LeanLlama:
    """The decoder; see `coevo.engines.decoding.Decoder`.

    Args:
        shape: Sizes of the model. Weights start at zero: write them through `arrays`.
        rows: Most rows at once.
    """

    refills = True

    def __init__(self, shape: LlamaShape, rows: int) -> None:
        self.rows = rows
        self.context = shape.context
        self._shape = shape
        self._weights = _zero_weights(shape)
        # One row more than is ever used takes the padding token of an odd batch.
        cache = np.zeros((shape.layers, 2, rows + 1, shape.heads, shape.context, shape.head_width), np.float32)
        self._factors = RowFactors(shape, rows + 1)
        self._memory = Memory(*_rotary_tables(shape), cache, self._factors.corrections)
        self._members: list[Member | None] = []
        self._prompts: list[tuple[int, ...]] = []
        self._lengths: list[int] = []

    def arrays(self) -> dict[str, FloatArray]:
        """Checkpoint name -> the served weights as a flat fp32 view; writing to it changes what is served."""
        shape, weights = self._shape, self._weights
        inner, forward_width = shape.heads * shape.head_width, shape.feed_forward
        found = {
            "model.embed_tokens.weight": weights.embedding[: shape.vocabulary],
            "model.norm.weight": weights.norm,
        }
        for layer in range(shape.layers):
            at = f"model.layers.{layer}."
            for part, name in enumerate("qkv"):
                found[f"{at}self_attn.{name}_proj.weight"] = weights.qkv[layer, part * inner : (part + 1) * inner]
            for part, name in enumerate(("gate", "up")):
                rows = slice(part * forward_width, (part + 1) * forward_width)
                found[f"{at}mlp.{name}_proj.weight"] = weights.gate_up[layer, rows]
            found[f"{at}self_attn.o_proj.weight"] = weights.out[layer]
            found[f"{at}mlp.down_proj.weight"] = weights.down[layer]
            found[f"{at}input_layernorm.weight"] = weights.norms[layer, 0]
            found[f"{at}post_attention_layernorm.weight"] = weights.norms[layer, 1]
        if not shape.is_tied:
            found["lm_head.weight"] = weights.head[: shape.vocabulary]
        return {name: array.reshape(-1) for name, array in found.items()}

    def admit(self, prompts: Sequence[Sequence[int]], members: Sequence[Member | None] = ()) -> FloatArray:
        """See `Decoder`.

        What a prompt begins with in common with a row of the same member at work is copied from it, not read again.
        """
        owners = low_rank_rows(members, len(prompts))
        return np.stack([self._read(tuple(tokens), owner) for tokens, owner in zip(prompts, owners, strict=True)])

    def step(self, tokens: Sequence[int]) -> FloatArray:
        """See `Decoder`."""
        hidden = self._forward(tokens, range(len(tokens)), self._lengths)
        self._lengths = [length + 1 for length in self._lengths]
        return self._logits(hidden)

    def keep(self, rows: Sequence[int]) -> None:
        """See `Decoder`."""
        for to, row in enumerate(rows):
            if to != row:
                self._copy_row(row, to, self._lengths[row])
                self._factors.move(row, to)
        self._factors.truncate(len(rows))
        self._members = [self._members[row] for row in rows]
        self._prompts = [self._prompts[row] for row in rows]
        self._lengths = [self._lengths[row] for row in rows]

    def _read(self, tokens: tuple[int, ...], owner: Member | None) -> FloatArray:
        """First logits of one prompt, shape (vocabulary,), in a new row."""
        row, shared = len(self._prompts), 0
        self._factors.assign(row, owner)
        self._memory = self._memory._replace(corrections=self._factors.corrections)
        # Keys and values are those of one member: another's beginning is the same text, but not the same numbers.
        shares = {
            other: _common_length(tokens, self._prompts[other]) for other in range(row) if self._members[other] == owner
        }
        if shares:
            longest = max(shares, key=shares.__getitem__)
            shared = min(shares[longest], len(tokens) - 1)
            self._copy_row(longest, row, shared)
        fresh = tokens[shared:]
        hidden = self._forward(fresh, [row] * len(fresh), range(shared, len(tokens)))
        self._members.append(owner)
        self._prompts.append(tokens)
        self._lengths.append(len(tokens))
        logits: FloatArray = self._logits(hidden[-1:])[0]
        return logits

    def _forward(self, tokens: Sequence[int], rows: Sequence[int], positions: Sequence[int]) -> FloatArray:
        padding = [0] * (-len(tokens) % TOKEN_BLOCK)
        places = np.array([[*rows, *(self.rows for _ in padding)], [*positions, *padding]])
        hidden = forward(self._weights, self._memory, np.array([*tokens, *padding]), places, self._shape.epsilon)
        return np.asarray(hidden[: len(tokens)], np.float32)

    def _logits(self, hidden: FloatArray) -> FloatArray:
        padded = np.zeros((len(hidden) + -len(hidden) % TOKEN_BLOCK, self._shape.width), np.float32)
        padded[: len(hidden)] = hidden
        logits = np.empty((len(padded), len(self._weights.head)), np.float32)
        multiply(padded, self._weights.head, logits)
        return logits[: len(hidden), : self._shape.vocabulary]

    def _copy_row(self, source: int, target: int, length: int) -> None:
        cache = self._memory.cache
        cache[:, :, target, :, :length] = cache[:, :, source, :, :length]


def _common_length(first: Sequence[int], second: Sequence[int]) -> int:
    length = 0
    for a, b in zip(first, second, strict=False):
        if a != b:
            break
        length += 1
    return length


def _zero_weights(shape: LlamaShape) -> LlamaArrays:
    inner, width, forward_width = shape.heads * shape.head_width, shape.width, shape.feed_forward
    vocabulary = shape.vocabulary + -shape.vocabulary % ROW_BLOCK
    embedding = np.zeros((vocabulary, width), np.float32)
    return LlamaArrays(
        norms=np.zeros((shape.layers, 2, width), np.float32),
        qkv=np.zeros((shape.layers, 3 * inner, width), np.float32),
        out=np.zeros((shape.layers, width, inner), np.float32),
        gate_up=np.zeros((shape.layers, 2 * forward_width, width), np.float32),
        down=np.zeros((shape.layers, width, forward_width), np.float32),
        norm=np.zeros(width, np.float32),
        embedding=embedding,
        head=embedding if shape.is_tied else np.zeros((vocabulary, width), np.float32),
    )


def _rotary_tables(shape: LlamaShape) -> tuple[FloatArray, FloatArray]:
    """Cosines, and sines negated in the first half, each of shape (context, head width)."""
    exponents = np.arange(0, shape.head_width, 2, dtype=np.float32) / np.float32(shape.head_width)
    frequencies = (1.0 / np.float64(shape.theta) ** exponents).astype(np.float32)
    angles = np.outer(np.arange(shape.context, dtype=np.float32), frequencies)
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([cos, cos], 1), np.concatenate([-sin, sin], 1)
