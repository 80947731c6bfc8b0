"""Rewards to weights of the update.

Sums are exact (`math.fsum`), so the result is the same on every machine and for every order of the rewards.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def z_scores(rewards: Sequence[float]) -> NDArray[np.float64] | None:
    """Rewards minus their mean, over their population standard deviation.

    Args:
        rewards: Shape (members,), higher is better, all finite.

    Returns:
        Shape (members,), mean 0 and mean square 1, in the order given; None without spread (all rewards equal, or
        fewer than two), because then the step says nothing about any direction.

    Raises:
        ValueError: If a reward is NaN or infinite.
    """
    values = [float(reward) for reward in rewards]
    if not all(math.isfinite(value) for value in values):
        raise ValueError(f"rewards must be finite, got {values}; an invalid child needs a reward too, not NaN")
    if len(set(values)) < 2:
        return None
    values = _rescaled(values)
    mean = math.fsum(values) / len(values)
    centred = [value - mean for value in values]
    spread = math.sqrt(math.fsum(value * value for value in centred) / len(centred))
    return np.array(centred) / spread


def z_scores_within(rewards: Sequence[float], groups: Sequence[int]) -> NDArray[np.float64] | None:
    """z-scores in each group by itself (CoPES, arXiv:2608.02391, the ablation with independent z-scores).

    Args:
        rewards: Shape (members,), higher is better, all finite.
        groups: The group of each member.

    Returns:
        Shape (members,), in the order given, 0 throughout a group without spread; None if no group has any.

    Raises:
        ValueError: If a reward is NaN or infinite.
    """
    scores = np.zeros(len(rewards))
    for group in set(groups):
        own = [place for place, its in enumerate(groups) if its == group]
        inside = z_scores([rewards[place] for place in own])
        if inside is not None:
            scores[own] = inside
    return scores if scores.any() else None


def _rescaled(values: list[float]) -> list[float]:
    """Move the values to start at 0 and scale them by a power of two to at most 1.

    The z-scores stay what they are, but the largest floats do not overflow when squared, the smallest do not vanish,
    and a small spread around a large offset keeps its bits.
    """
    if max(map(abs, values)) > 1.0:
        # Half a difference fits into a float even where the difference does not.
        values = [value / 2 for value in values]
    lowest = min(values)
    above = [value - lowest for value in values]
    exponent = math.frexp(max(above))[1]
    return [math.ldexp(value, -exponent) for value in above]
