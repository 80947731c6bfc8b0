"""From children to the rewards of ES members (maximised).

A valid child earns parent cost − child cost, parent being the best of its parents. Two corrections to the published
rule (arXiv:2608.17310): valid rewards are clipped below at parent − worst of the population, so that one disaster does
not flatten the z-scores of a step; and an invalid child earns less than every valid one of its step, always.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from coevo.searching.breeding import Child


def child_rewards(children: Sequence[Child], worst: float) -> list[float] | None:
    """One reward per child of a step.

    Args:
        children: Every child of the step.
        worst: Cost of the worst candidate in the population the parents came from.

    Returns:
        Rewards in order, or None if no child is valid: such a step teaches nothing.
    """
    earned = [_valid_reward(child, worst) if child.evaluation.is_ok else None for child in children]
    valid = [reward for reward in earned if reward is not None]
    if not valid:
        return None
    floor = min(valid) - _margin(valid)
    return [floor if reward is None else reward for reward in earned]


def _valid_reward(child: Child, worst: float) -> float:
    assert child.evaluation.cost is not None
    if child.candidate is not None and child.candidate.identity in child.candidate.parents:
        return 0.0
    parent = min(parent.cost for parent in child.parents)
    return max(parent - child.evaluation.cost, parent - worst)


def _margin(valid: Sequence[float]) -> float:
    """How far below the worst valid reward an invalid child falls: their spread, in the problem's own scale."""
    spread = float(np.std(valid))
    return spread if spread > 0 else max(0.01 * abs(valid[0]), 1e-6)


def member_rewards(children: Sequence[Child], rewards: Sequence[float]) -> dict[str, float]:
    """Mean reward of each member's children, by member identity."""
    by_member: dict[str, list[float]] = defaultdict(list)
    for child, reward in zip(children, rewards, strict=True):
        if child.member is not None:
            by_member[child.member.identity].append(reward)
    return {member: float(np.mean(values)) for member, values in by_member.items()}
