"""What a child of a fixed parent earns, and what many of them say about the model that wrote them.

The reward is (parent cost − child cost) / scale, clipped to [−1, 1], with one scale for the whole probe: rewards of
problems whose costs differ by orders of magnitude can be compared, and no single child outweighs the rest. An invalid
child earns −1, a copy of its parent 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coevo.searching.breeding import Child

INVALID = -1.0


def scale_of(costs: Sequence[float]) -> float:
    """What rewards are measured in: the difference between the worst and the best parent's cost.

    Args:
        costs: Of all parents of a probe, two or more; minimised.

    Raises:
        ValueError: If they do not differ by a finite amount.
    """
    spread = max(costs) - min(costs)
    if not (spread > 0 and math.isfinite(spread)):
        raise ValueError(f"parents must differ in cost by a finite amount, got {sorted(costs)}")
    return spread


def child_reward(child: Child, scale: float) -> float:
    """Reward of one child, in [−1, 1], maximised; the better of several parents is the one to beat."""
    cost = child.evaluation.cost
    if cost is None:
        return INVALID
    if child.candidate is not None and child.candidate.identity in child.candidate.parents:
        return 0.0
    parent = min(parent.cost for parent in child.parents)
    return max(-1.0, min(1.0, (parent - cost) / scale))


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measurement of the unperturbed model on one set of parents.

    Attributes:
        rewards: One per completion, in order of the completions.
        valid: Share of valid children.
        improved: Share of children that cost less than their parent.
        distinct: Different programs among the children, valid or not.
    """

    rewards: tuple[float, ...]
    valid: float
    improved: float
    distinct: int

    @classmethod
    def of(cls, children: Sequence[Child], scale: float) -> "Measurement":
        """What children, one or more, say."""
        return cls(
            rewards=tuple(child_reward(child, scale) for child in children),
            valid=sum(child.evaluation.is_ok for child in children) / len(children),
            improved=sum(_is_better(child) for child in children) / len(children),
            distinct=len({child.candidate.identity for child in children if child.candidate is not None}),
        )

    @property
    def mean(self) -> float:
        """Mean reward."""
        return float(np.mean(self.rewards))

    @property
    def standard_error(self) -> float:
        """Standard error of the mean over completions. The parents are fixed: it does not speak for other parents."""
        return standard_error(self.rewards)

    def change_since(self, before: "Measurement") -> tuple[float, float]:
        """Mean difference to a measurement with the same cases and seeds, and its standard error (paired)."""
        differences = np.subtract(self.rewards, before.rewards)
        return float(differences.mean()), standard_error(differences)


def standard_error(values: Sequence[float] | NDArray[np.float64]) -> float:
    """Standard error of a mean of two or more values: sample standard deviation over the root of their number."""
    return float(np.std(values, ddof=1) / math.sqrt(len(values)))


def _is_better(child: Child) -> bool:
    cost = child.evaluation.cost
    return cost is not None and cost < min(parent.cost for parent in child.parents)
