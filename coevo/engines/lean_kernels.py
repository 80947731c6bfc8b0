"""Numba kernels of the lean decoder: one Llama forward pass over tokens of any rows at any positions.

Every token's arithmetic is its own: the order of each sum depends on the model's sizes and on the token's position,
never on how many other tokens are computed beside it. So a prompt read at once, a token appended to a batch, and the
same token alone agree to the bit. Matrices are read row by row in storage order, because at these sizes the time goes
into moving weights, not into arithmetic. A low-rank member's change of a matrix is added to the finished product, so a
token of the base takes the same steps with and without members beside it.

Source: Touvron et al. 2023, arXiv:2302.13971 (Llama); Su et al. 2021, arXiv:2104.09864 (rotary positions);
EGGROLL, arXiv:2511.16652 (low-rank members in one batch).
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from coevo.noise.compiled import compiled

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]
F = TypeVar("F", bound=Callable[..., Any])

ROW_BLOCK = 4
"""Rows of a matrix handled at once: the number of rows has to be a multiple."""

TOKEN_BLOCK = 2
"""Tokens handled at once; batches are padded to a multiple, so that there is no second path for the rest."""

_LOG2_E = np.float32(1.4426950408889634)
_LN2_HIGH = np.float32(0.693359375)
_LN2_LOW = np.float32(-2.12194440e-4)


class LlamaArrays(NamedTuple):
    """The weights, all fp32; the first axis of every array but the last three is the layer.

    Shapes, with d the width, i = heads · head width, f the feed-forward width, V the padded vocabulary: `norms`
    (L, 2, d), `qkv` (L, 3i, d), `out` (L, d, i), `gate_up` (L, 2f, d), `down` (L, d, f), `norm` (d,), `embedding` and
    `head` (V, d).
    """

    norms: FloatArray
    qkv: FloatArray
    out: FloatArray
    gate_up: FloatArray
    down: FloatArray
    norm: FloatArray
    embedding: FloatArray
    head: FloatArray


class Factors(NamedTuple):
    """Low-rank factors of one stack of matrices, for members in places of their own.

    `left` (places, L, r, parts, rows of a part) is Aᵀ of every matrix, `right` (places, L, r, parts, columns) is Bᵀ.
    """

    left: FloatArray
    right: FloatArray


class Corrections(NamedTuple):
    """Low-rank changes of the weights, for every row of the cache its own.

    `places` (rows,) says where the factors of a row's member lie, -1 for a row of the base; `ranks` (rows,) how many
    columns they have, and `scales` (rows,) by what their product is multiplied.
    """

    qkv: Factors
    out: Factors
    gate_up: Factors
    down: Factors
    places: IntArray
    ranks: IntArray
    scales: FloatArray


class Memory(NamedTuple):
    """What a pass reads besides weights.

    `cos` and `sin` (context, head width) are the rotary tables, `sin` negated in its first half; `cache` (L, 2, rows,
    heads, context, head width) holds keys and values, and a pass extends it; `corrections` are those of its rows.
    """

    cos: FloatArray
    sin: FloatArray
    cache: FloatArray
    corrections: Corrections


def _kernel(function: F) -> F:
    # Reordered and fused sums are fixed at compile time, so they stay deterministic; NaN and infinity keep their rules.
    return compiled(function, fastmath={"reassoc", "contract", "nsz"})


@_kernel
def forward(weights: LlamaArrays, memory: Memory, tokens: IntArray, places: IntArray, epsilon: float) -> FloatArray:
    """Hidden states of tokens behind the last norm, shape (tokens, width); extends the cache.

    Args:
        weights: The model.
        memory: Tables and cache; every position before a token's has been passed already or is passed here.
        tokens: Shape (n,), n a multiple of `TOKEN_BLOCK`.
        places: Shape (2, n): cache row and position of each token.
        epsilon: Of the norms.
    """
    count, width = len(tokens), weights.norm.shape[0]
    forward_width = weights.down.shape[2]
    rows, corrections = places[0], memory.corrections
    hidden = np.empty((count, width), np.float32)
    for token in range(count):
        for k in range(width):
            hidden[token, k] = weights.embedding[tokens[token], k]
    normed = np.empty((count, width), np.float32)
    mixed = np.empty((count, weights.out.shape[2]), np.float32)
    qkv = np.empty((count, weights.qkv.shape[1]), np.float32)
    gate_up = np.empty((count, 2 * forward_width), np.float32)
    gated = np.empty((count, forward_width), np.float32)
    for layer in range(weights.qkv.shape[0]):
        normalise(hidden, weights.norms[layer, 0], epsilon, normed)
        multiply(normed, weights.qkv[layer], qkv)
        correct(normed, corrections.qkv, corrections, (rows, layer), qkv)
        _remember(qkv, memory, layer, places)
        _attend(qkv, memory.cache[layer], places, mixed)
        multiply(mixed, weights.out[layer], normed)
        correct(mixed, corrections.out, corrections, (rows, layer), normed)
        _add(normed, hidden)
        normalise(hidden, weights.norms[layer, 1], epsilon, normed)
        multiply(normed, weights.gate_up[layer], gate_up)
        correct(normed, corrections.gate_up, corrections, (rows, layer), gate_up)
        _gate(gate_up, gated)
        multiply(gated, weights.down[layer], normed)
        correct(gated, corrections.down, corrections, (rows, layer), normed)
        _add(normed, hidden)
    normalise(hidden, weights.norm, epsilon, normed)
    return normed


@_kernel
def multiply(rows: FloatArray, matrix: FloatArray, out: FloatArray) -> None:
    """Write rows · matrixᵀ into `out`; both row counts are multiples of their block."""
    width = rows.shape[1]
    for o in range(0, matrix.shape[0], ROW_BLOCK):
        w0, w1, w2, w3 = matrix[o], matrix[o + 1], matrix[o + 2], matrix[o + 3]
        for m in range(0, rows.shape[0], TOKEN_BLOCK):
            x, y = rows[m], rows[m + 1]
            x0 = x1 = x2 = x3 = y0 = y1 = y2 = y3 = np.float32(0)
            for k in range(width):
                x0 += x[k] * w0[k]
                y0 += y[k] * w0[k]
                x1 += x[k] * w1[k]
                y1 += y[k] * w1[k]
                x2 += x[k] * w2[k]
                y2 += y[k] * w2[k]
                x3 += x[k] * w3[k]
                y3 += y[k] * w3[k]
            out[m, o], out[m, o + 1], out[m, o + 2], out[m, o + 3] = x0, x1, x2, x3
            out[m + 1, o], out[m + 1, o + 1], out[m + 1, o + 2], out[m + 1, o + 3] = y0, y1, y2, y3


@_kernel
def correct(
    tokens: FloatArray, factors: Factors, corrections: Corrections, where: tuple[IntArray, int], out: FloatArray
) -> None:
    """Add scale · A·(Bᵀ·token) to what a stack of matrices made of each token of a low-rank member.

    Args:
        tokens: Shape (n, columns): what went into the product.
        factors: Of this stack.
        corrections: Whose rows of the cache are whose.
        where: The row of the cache of each token, and the layer.
        out: Shape (n, parts · rows of a part), changed in place; not touched where a token is the base's.
    """
    rows, layer = where
    parts, height = factors.left.shape[3], factors.left.shape[4]
    for m in range(tokens.shape[0]):
        place, scale = corrections.places[rows[m]], corrections.scales[rows[m]]
        if place < 0:
            continue
        for j in range(corrections.ranks[rows[m]]):
            for part in range(parts):
                left, right = factors.left[place, layer, j, part], factors.right[place, layer, j, part]
                _add_share(tokens[m], right, scale, left, out[m, part * height : (part + 1) * height])


@_kernel
def _add_share(x: FloatArray, right: FloatArray, scale: float, left: FloatArray, out: FloatArray) -> None:
    """Add scale · (right·x) · left to `out`."""
    share = np.float32(0)
    for k in range(len(x)):
        share += x[k] * right[k]
    share *= scale
    for k in range(len(out)):
        out[k] += share * left[k]


@_kernel
def normalise(rows: FloatArray, weight: FloatArray, epsilon: float, out: FloatArray) -> None:
    """Root-mean-square norm of each row."""
    width = rows.shape[1]
    for m in range(rows.shape[0]):
        square = np.float32(0)
        for k in range(width):
            square += rows[m, k] * rows[m, k]
        scale = np.float32(1) / np.sqrt(square / np.float32(width) + np.float32(epsilon))
        for k in range(width):
            out[m, k] = rows[m, k] * scale * weight[k]


@_kernel
def exponentiate(values: FloatArray) -> None:
    """Exponentials in place, relative error below 3e-7, arguments clamped to ±87.

    Cephes' polynomial (Moshier 1989): unlike a call of the C library it vectorises.
    """
    powers = np.empty(len(values), np.int32)
    for j in range(len(values)):
        x = min(max(values[j], np.float32(-87)), np.float32(87))
        power = np.floor(x * _LOG2_E + np.float32(0.5))
        x = x - power * _LN2_HIGH - power * _LN2_LOW
        p = np.float32(1.9875691500e-4)
        p = p * x + np.float32(1.3981999507e-3)
        p = p * x + np.float32(8.3334519073e-3)
        p = p * x + np.float32(4.1665795894e-2)
        p = p * x + np.float32(1.6666665459e-1)
        p = p * x + np.float32(5.0000001201e-1)
        values[j] = p * x * x + x + np.float32(1)
        powers[j] = (np.int32(power) + np.int32(127)) << np.int32(23)
    scales = powers.view(np.float32)
    for j in range(len(values)):
        values[j] *= scales[j]


@_kernel
def _add(change: FloatArray, out: FloatArray) -> None:
    """Add one matrix to another in place."""
    for m in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[m, k] += change[m, k]


@_kernel
def _remember(qkv: FloatArray, memory: Memory, layer: int, places: IntArray) -> None:
    """Turn queries (in place) and keys by their position; append keys and values to the cache."""
    keys, values = memory.cache[layer, 0], memory.cache[layer, 1]
    heads, head_width = keys.shape[1], keys.shape[3]
    half, inner = head_width // 2, heads * head_width
    for token in range(qkv.shape[0]):
        row, position = places[0, token], places[1, token]
        cos, sin = memory.cos[position], memory.sin[position]
        for head in range(heads):
            query = qkv[token, head * head_width : (head + 1) * head_width]
            key = qkv[token, inner + head * head_width : inner + (head + 1) * head_width]
            for k in range(half):
                low, high = query[k], query[k + half]
                query[k] = low * cos[k] + high * sin[k]
                query[k + half] = high * cos[k + half] + low * sin[k + half]
                low, high = key[k], key[k + half]
                keys[row, head, position, k] = low * cos[k] + high * sin[k]
                keys[row, head, position, k + half] = high * cos[k + half] + low * sin[k + half]
            for k in range(head_width):
                values[row, head, position, k] = qkv[token, 2 * inner + head * head_width + k]


@_kernel
def _attend(qkv: FloatArray, cache: FloatArray, places: IntArray, out: FloatArray) -> None:
    """Causal attention of each token over its row of the cache."""
    heads, head_width = cache.shape[2], cache.shape[4]
    scale = np.float32(1) / np.sqrt(np.float32(head_width))
    scores = np.empty(cache.shape[3], np.float32)
    for token in range(qkv.shape[0]):
        row, length = places[0, token], places[1, token] + 1
        for head in range(heads):
            keys, values = cache[0, row, head], cache[1, row, head]
            query = qkv[token, head * head_width : (head + 1) * head_width]
            for t in range(length):
                score = np.float32(0)
                for k in range(head_width):
                    score += query[k] * keys[t, k]
                scores[t] = score * scale
            _mix(scores[:length], values, out[token, head * head_width : (head + 1) * head_width])


@_kernel
def _mix(scores: FloatArray, values: FloatArray, out: FloatArray) -> None:
    """Write softmax(scores) · values into `out`; scores are overwritten."""
    highest = scores[0]
    for t in range(1, len(scores)):
        highest = max(highest, scores[t])
    for t in range(len(scores)):
        scores[t] -= highest
    exponentiate(scores)
    total = np.float32(0)
    for t in range(len(scores)):
        total += scores[t]
    for k in range(len(out)):
        out[k] = np.float32(0)
    for t in range(len(scores)):
        share = scores[t]
        for k in range(len(out)):
            out[k] += share * values[t, k]
    for k in range(len(out)):
        out[k] /= total


@_kernel
def _gate(gate_up: FloatArray, out: FloatArray) -> None:
    """Write silu(gate) · up into `out`, for rows that hold the gate first and up behind it."""
    width = out.shape[1]
    for m in range(out.shape[0]):
        gate, up = gate_up[m, :width], gate_up[m, width:]
        for k in range(width):
            out[m, k] = -gate[k]
        exponentiate(out[m])
        for k in range(width):
            out[m, k] = gate[k] / (np.float32(1) + out[m, k]) * up[k]
