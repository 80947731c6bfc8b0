"""Draw tokens: presence penalty, temperature, top-k, nucleus, one counter-based stream of uniforms per request.

A request's tokens are a function of its logits and its own seed, so neighbours in a batch cannot change them. What is
applied comes in this order: the penalty on what the answer already has, the k likeliest (of equal ones the lower token
numbers), temperature, the nucleus of what is left. The draw inverts the cumulative distribution in order of falling
probability (equal ones by token number). What is at its default costs nothing and changes nothing.

Source: Holtzman et al. 2020, arXiv:1904.09751 (nucleus sampling); Fan et al. 2018, arXiv:1805.04833 (top-k).
"""

import numpy as np
from numpy.typing import NDArray

from coevo.interfaces import Sampling

FloatArray = NDArray[np.float32]

_TAIL = np.float32(1e-4)
"""Tokens this much less likely than the likeliest are sorted only if the nucleus reaches down to them."""


class Sampler:
    """The tokens of one request."""

    def __init__(self, sampling: Sampling, seed: int) -> None:
        self._sampling = sampling
        self._uniforms = np.random.Generator(np.random.Philox(key=seed))
        self._seen: set[int] = set()

    def draw(self, logits: FloatArray) -> int:
        """The next token.

        Args:
            logits: Shape (vocabulary,), finite; left as they are. Temperature 0 takes the largest after the penalty
                (the first of equals) and uses no random number; any other temperature uses exactly one.
        """
        if self._sampling.presence_penalty == 0:
            return self._choose(logits)
        token = self._choose(self._penalised(logits))
        self._seen.add(token)
        return token

    def _penalised(self, logits: FloatArray) -> FloatArray:
        penalised = logits.copy()
        penalised[list(self._seen)] -= np.float32(self._sampling.presence_penalty)
        return penalised

    def _choose(self, logits: FloatArray) -> int:
        sampling = self._sampling
        if sampling.temperature == 0:
            return int(np.argmax(logits))
        kept = _likeliest(logits, sampling.top_k) if 0 < sampling.top_k < len(logits) else None
        if kept is not None:
            logits = logits[kept]
        weights = np.exp((logits - logits.max()) / np.float32(sampling.temperature))
        place = _invert(weights, sampling.top_p, self._uniforms.random())
        return place if kept is None else int(kept[place])


def _likeliest(logits: FloatArray, count: int) -> NDArray[np.int64]:
    """Numbers of the `count` largest, ascending; of equal ones the lower numbers."""
    least = np.partition(logits, len(logits) - count)[len(logits) - count]
    above, equal = (logits > least).nonzero()[0], (logits == least).nonzero()[0]
    return np.sort(np.concatenate([above, equal[: count - len(above)]]))


def _invert(weights: FloatArray, top_p: float, uniform: float) -> int:
    """Token at quantile `uniform` of the nucleus of unnormalised probabilities whose largest is 1."""
    needed = top_p * float(weights.sum(dtype=np.float64))
    candidates = (weights > _TAIL).nonzero()[0]
    likely = weights[candidates]
    falling, cumulative = _sort_down(likely)
    if cumulative[-1] < needed:
        candidates, likely = np.arange(len(weights)), weights
        falling, cumulative = _sort_down(weights)
    last = min(int(cumulative.searchsorted(needed)), len(cumulative) - 1)
    rank = min(int(cumulative.searchsorted(uniform * cumulative[last], side="right")), last)
    first_equal = int(falling.searchsorted(falling[rank]))
    return int(candidates[(likely == -falling[rank]).nonzero()[0][rank - first_equal]])


def _sort_down(weights: FloatArray) -> tuple[FloatArray, NDArray[np.float64]]:
    """The negated weights in ascending order, so the likeliest first, and the running sum of the weights."""
    falling = -weights
    falling.sort()
    return falling, (-falling).cumsum(dtype=np.float64)
