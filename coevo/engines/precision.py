"""How much of a perturbation survives in a storage type, told by a sample of the weights with the noise itself.

A 16-bit type keeps 8 or 11 bits of a weight: noise below half of the last one changes nothing. RMSNorm weights near 1
lose almost all of a σ of 1e-3 in bfloat16.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.block import Block, matrix_shape
from coevo.engines.checkpoint import TensorInfo
from coevo.engines.storage import STORAGE, to_storage, widened
from coevo.interfaces import Member

SAMPLE = 1 << 16
"""Elements looked at in each tensor, at most."""

PROBE_RUN_KEY = 0
"""The noise of the sample is that of run key 0, step 0, direction 0."""

_BLOCKS = 16


@dataclass(frozen=True, slots=True)
class Survival:
    """What a storage type keeps of a perturbation.

    Attributes:
        swallowed: Share of the weights with round(w + σε) = round(w), in [0, 1].
        realised: Root mean square of round(w + σε) − round(w), over σ; 1 where rounding does not matter.
    """

    swallowed: float
    realised: float


def survival(tensors: Iterable[TensorInfo], sigma: float) -> dict[str, Survival]:
    """What each storage type keeps of a perturbation of these tensors, each tensor weighing as many as it has elements.

    Args:
        tensors: Which; at most `SAMPLE` elements of each are read.
        sigma: Standard deviation of the perturbation, in weight units; above 0.

    Returns:
        "float32", "bfloat16" and "float16", in this order; nothing for no elements.
    """
    weight, swallowed, square = 0, dict.fromkeys(STORAGE, 0.0), dict.fromkeys(STORAGE, 0.0)
    for tensor in (tensor for tensor in tensors if tensor.size):
        weight += tensor.size
        blocks = list(sample_blocks(tensor.name, tensor.shape))
        values = [(block, tensor.read_block(block)) for block in blocks]
        for storage, dtype in STORAGE.items():
            moves = np.concatenate([_moves(base, block, sigma, dtype).reshape(-1) for block, base in values])
            swallowed[storage] += tensor.size * float((moves == 0).mean())
            square[storage] += tensor.size * float(np.square(moves).mean())
    if weight == 0:
        return {}
    return {name: Survival(swallowed[name] / weight, (square[name] / weight) ** 0.5) for name in STORAGE}


def sample_blocks(name: str, shape: tuple[int, ...]) -> Iterator[Block]:
    """Blocks of a tensor spread evenly over its rows, at most `SAMPLE` elements in all; a small tensor whole."""
    height, width = matrix_shape(shape)
    if height * width <= SAMPLE:
        yield Block.whole(name, shape)
        return
    count = min(_BLOCKS, height)
    share = SAMPLE // count
    cols = min(width, share)
    rows = min(max(1, share // cols), height // count)
    for place in range(count):
        col = (width - cols) * place // max(1, count - 1)
        yield Block(name, shape, height * place // count, col, rows, cols)


def _moves(base: NDArray[np.float32], block: Block, sigma: float, dtype: np.dtype[Any]) -> NDArray[np.float64]:
    """(round(w + σε) − round(w)) / σ; 0 for a weight that the type has no number for."""
    from coevo.noise import perturb

    moved = np.empty_like(base)
    perturb(base, moved, block, Member(PROBE_RUN_KEY, 0, 0, 1, sigma))
    before, after = (widened(to_storage(values, dtype)).astype(np.float64) for values in (base, moved))
    known = np.isfinite(before) & np.isfinite(after)
    return np.subtract(after, before, where=known, out=np.zeros_like(before)) / sigma
