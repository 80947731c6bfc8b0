"""The population of candidates and the choice of parents, as in EoH (arXiv:2401.02051, section 3)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from coevo.candidate import Candidate

COST_DECIMALS = 9
"""Costs that agree to this many decimals count as the same behaviour: only the first such candidate is kept."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A valid candidate with its cost (minimised) on the search split."""

    candidate: Candidate
    cost: float


@dataclass(frozen=True, slots=True)
class Population:
    """The best distinct candidates so far, best first.

    Attributes:
        capacity: How many are kept.
        ranked: Sorted by cost, ties in order of arrival.
    """

    capacity: int
    ranked: tuple[Scored, ...] = ()

    def __len__(self) -> int:
        return len(self.ranked)

    def __iter__(self) -> Iterator[Scored]:
        return iter(self.ranked)

    @property
    def best(self) -> Scored:
        """The candidate of least cost."""
        return self.ranked[0]

    @property
    def worst(self) -> Scored:
        """The candidate of greatest cost."""
        return self.ranked[-1]

    def manage(self, children: Iterable[Scored]) -> "Population":
        """Admit children, drop repeats of a cost already seen, keep the best.

        Args:
            children: Valid ones only, in the order they were asked for.

        Returns:
            A new population; this one is unchanged.
        """
        distinct: dict[float, Scored] = {}
        for scored in (*self.ranked, *children):
            distinct.setdefault(round(scored.cost, COST_DECIMALS), scored)
        ranked = sorted(distinct.values(), key=lambda scored: scored.cost)
        return Population(self.capacity, tuple(ranked[: self.capacity]))

    def draw(self, count: int, rng: np.random.Generator) -> tuple[Scored, ...]:
        """Choose parents with probability proportional to 1 / (rank + 1 + n), rank 0 the best of n.

        Parents are distinct as long as the population is large enough. The reference draws with replacement and so
        asks, now and then, to combine a heuristic with itself.
        """
        size = len(self.ranked)
        weights = 1.0 / (np.arange(size) + 1 + size)
        chosen = rng.choice(size, size=count, replace=count > size, p=weights / weights.sum())
        return tuple(self.ranked[int(index)] for index in chosen)
