"""From children to the rewards of ES members (maximised).

The published reward of a valid child is parent cost − child cost, parent being the best of its parents
(arXiv:2608.17310, section 4). Two corrections: it is clipped below at parent − worst of the population, so that one
disaster does not flatten the z-scores of a step; and an invalid child earns less than every valid one of its step,
always.
"""

import statistics
from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

import numpy as np

from coevo.searching.breeding import Child

RewardRule = Literal["difference", "cost", "rank"]
CopyRule = Literal["zero", "invalid"]


def child_rewards(
    children: Sequence[Child], worst: float, rule: RewardRule = "difference", copies: CopyRule = "zero"
) -> list[float] | None:
    """One reward per child of a step.

    Args:
        children: Every child of the step.
        worst: Cost of the worst candidate in the population the parents came from; infinite if there is none.
        rule: "difference": see above. "cost": −child cost, the published rule where children have no parents. "rank":
            the rank of the difference (without parents, of −cost) among the valid children, from −½ to ½, equal ones
            sharing their mean rank.
        copies: What repeats a parent counts as a difference of 0, or earns as little as an invalid child.

    Returns:
        Rewards in order, or None if no child earns one: such a step teaches nothing.
    """
    earned = [_reward(child, worst, rule, copies) for child in children]
    valid = [reward for reward in earned if reward is not None]
    if not valid:
        return None
    if rule == "rank":
        ranks = dict(zip(sorted(set(valid)), _mean_ranks(valid), strict=True))
        earned = [None if reward is None else ranks[reward] for reward in earned]
        valid = list(ranks.values())
    floor = min(valid) - _margin(valid)
    return [floor if reward is None else reward for reward in earned]


def _reward(child: Child, worst: float, rule: RewardRule, copies: CopyRule) -> float | None:
    """What a child earns by itself; None for an invalid one."""
    cost = child.evaluation.cost
    if cost is None:
        return None
    is_copy = child.candidate is not None and child.candidate.identity in child.candidate.parents
    if is_copy and copies == "invalid":
        return None
    if rule == "cost" or not child.parents:
        return -cost
    if is_copy:
        return 0.0
    parent = min(parent.cost for parent in child.parents)
    return max(parent - cost, parent - worst) if rule == "difference" else parent - cost


def _mean_ranks(values: Sequence[float]) -> list[float]:
    """The mean rank of each distinct value, ascending, scaled to [−½, ½]; 0 where all are equal."""
    distinct, counts = np.unique(np.asarray(values), return_counts=True)
    if len(distinct) == 1:
        return [0.0]
    last = np.cumsum(counts)
    return [float(rank) for rank in (last - (counts + 1) / 2) / (len(values) - 1) - 0.5]


def _margin(valid: Sequence[float]) -> float:
    """How far below the worst valid reward an invalid child falls: their spread, in the problem's own scale."""
    spread = float(np.std(valid))
    return spread if spread > 0 else max(0.01 * abs(valid[0]), 1e-6)


def gains(children: Sequence[Child]) -> list[float] | None:
    """What each child of a batch gained on what it started from, in units of cost: comparable across batches.

    A child started from the best of its parents or, without any, from the median of its batch. Unlike rewards, gains do
    not depend on the run's reward rule; like them they put an invalid child below every valid one.

    Returns:
        Gains in order, or None if no child is valid.
    """
    costs = [child.evaluation.cost for child in children if child.evaluation.cost is not None]
    if not costs:
        return None
    middle = float(np.median(costs))
    earned = [_gain(child, middle) for child in children]
    valid = [gain for gain in earned if gain is not None]
    floor = min(valid) - _margin(valid)
    return [floor if gain is None else gain for gain in earned]


def _gain(child: Child, middle: float) -> float | None:
    cost = child.evaluation.cost
    if cost is None:
        return None
    return min((parent.cost for parent in child.parents), default=middle) - cost


def member_rewards(children: Sequence[Child], rewards: Sequence[float]) -> dict[str, float]:
    """Mean reward of each member's children, by member identity; the exact mean, rounded once.

    A sum that rounds on its way would tell members apart that have earned the same.
    """
    by_member: dict[str, list[float]] = defaultdict(list)
    for child, reward in zip(children, rewards, strict=True):
        if child.member is not None:
            by_member[child.member.identity].append(reward)
    return {member: statistics.mean(values) for member, values in by_member.items()}
