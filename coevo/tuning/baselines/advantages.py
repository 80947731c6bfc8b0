"""How good turns were: from the scores of episodes to one number for each turn. No torch."""

from collections import defaultdict
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

SPREAD_EPS = 1e-6
"""Below this standard deviation numbers count as equal, and nothing can be learned from them."""


def standardised(values: Sequence[float] | FloatArray) -> FloatArray:
    """Numbers less their mean, over their population standard deviation plus 1e-6; all 0 where they do not differ.

    Args:
        values: Shape (count,), at least one.

    Returns:
        Shape (count,); mean 0, and unchanged if the same is added to all values, or, but for the 1e-6, if all are
        multiplied by a positive number.
    """
    numbers = np.asarray(values, np.float64)
    centred = numbers - numbers.mean()
    spread = float(np.sqrt(np.mean(centred**2)))
    return centred / (spread + SPREAD_EPS) if spread >= SPREAD_EPS else np.zeros_like(centred)


def group_advantages(groups: Sequence[Hashable], scores: Sequence[float]) -> FloatArray:
    """Scores standardised within their groups: the advantages of GRPO (arXiv:2402.03300, section 4.1.2).

    Args:
        groups: The group of each episode: its task.
        scores: Its score, maximised.

    Returns:
        Shape (episodes,): positive where an episode was better than its group.
    """
    found = np.zeros(len(scores))
    places: defaultdict[Hashable, list[int]] = defaultdict(list)
    for place, group in enumerate(groups):
        places[group].append(place)
    for own in places.values():
        found[own] = standardised([scores[place] for place in own])
    return found


def turn_advantages(values: Sequence[float] | FloatArray, score: float, discount: float, decay: float) -> FloatArray:
    """Generalised advantage estimates of an episode's turns (arXiv:1506.02438, equation 16), all reward at its end.

    δₜ = rₜ + γ·V(sₜ₊₁) − V(sₜ) with r = score at the last turn and 0 before, V = 0 after it; Aₜ = Σ (γλ)ˡ·δₜ₊ₗ.

    Args:
        values: V(sₜ) of each turn, shape (turns,).
        score: Of the episode.
        discount: γ.
        decay: λ; at 1 the advantage is the discounted score less the value.

    Returns:
        Shape (turns,); the targets of the values are these plus the values.
    """
    known = np.asarray(values, np.float64)
    rewards = np.zeros_like(known)
    rewards[-1:] = score
    deltas = rewards + discount * np.append(known[1:], 0.0) - known
    found, carried = np.zeros_like(known), 0.0
    for turn in range(len(known) - 1, -1, -1):
        carried = deltas[turn] + discount * decay * carried
        found[turn] = carried
    return found
