"""Draw tokens: temperature, nucleus, one counter-based stream of uniforms per request.

A request's tokens are a function of its logits and its own seed, so neighbours in a batch cannot change them. The draw
inverts the cumulative distribution of the nucleus in order of falling probability (equal ones by token number).

Source: Holtzman et al. 2020, arXiv:1904.09751 (nucleus sampling).
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

    def draw(self, logits: FloatArray) -> int:
        """The next token.

        Args:
            logits: Shape (vocabulary,), finite. Temperature 0 takes the largest (the first of equals) and uses no
                random number; any other temperature uses exactly one.
        """
        if self._sampling.temperature == 0:
            return int(np.argmax(logits))
        weights = np.exp((logits - logits.max()) / np.float32(self._sampling.temperature))
        return _invert(weights, self._sampling.top_p, self._uniforms.random())


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
