"""Sums over a run's children and answers, kept as they come: what a page shows of a long run costs no second pass."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from coevo.evolution.population import COST_DECIMALS
from coevo.reporting.story import BatchStory, ChildStory, Fate, GenerationStory, OperatorUse

Ends = Mapping[int, tuple[float | None, float | None]]
"""Least and greatest cost of the population by generation."""
Rewards = Mapping[tuple[int, str], float | None]
"""Mean reward by generation and operator."""


@dataclass(slots=True)
class _Batch:
    children: int = 0
    valid: int = 0


@dataclass(slots=True)
class _Generation:
    children: int = 0
    valid: int = 0
    place: int = 0
    candidates: set[str] = field(default_factory=set)
    costs: set[float] = field(default_factory=set)


@dataclass(slots=True)
class _Use:
    asked: int = 0
    answered: int = 0
    tokens: int = 0
    cut_off: int = 0
    fates: Counter[Fate] = field(default_factory=Counter)


class Counts:
    """Children by batch, generation and fate, and completions by operator."""

    def __init__(self) -> None:
        self._batches: dict[tuple[int, str], _Batch] = {}
        self._generations: dict[int, _Generation] = {}
        self._uses: dict[str, _Use] = {}
        self._askers: dict[str, str] = {}
        self._failures: Counter[str] = Counter()

    def ask(self, operator: str, names: list[str]) -> None:
        """An operator asked for completions of these names."""
        self._uses.setdefault(operator, _Use()).asked += len(names)
        self._askers.update(dict.fromkeys(names, operator))

    def answer(self, name: str, tokens: int, *, is_cut_off: bool) -> None:
        """A completion came; one that nobody asked for is not counted."""
        if (operator := self._askers.get(name)) is not None:
            use = self._uses[operator]
            use.answered += 1
            use.tokens += tokens
            use.cut_off += is_cut_off

    def add(self, child: ChildStory) -> None:
        """A child was recorded."""
        # No `setdefault`: of what it would make for every child, nearly all is thrown away.
        if (batch := self._batches.get((child.generation, child.operator))) is None:
            batch = self._batches[child.generation, child.operator] = _Batch()
        if (generation := self._generations.get(child.generation)) is None:
            generation = self._generations[child.generation] = _Generation()
        batch.children += 1
        generation.children += 1
        generation.place = child.place
        if child.candidate is not None:
            generation.candidates.add(child.candidate)
        if child.cost is None:
            self._failures[f"{child.status}: {child.detail}"] += 1
        else:
            batch.valid += 1
            generation.valid += 1
            generation.costs.add(round(child.cost, COST_DECIMALS))
        if use := self._uses.get(child.operator):
            use.fates[child.fate] += 1

    def batches(self, rewards: Rewards) -> tuple[BatchStory, ...]:
        """The children of each operator in each generation, in order."""
        return tuple(
            BatchStory(generation, operator, batch.children, batch.valid, rewards.get((generation, operator)))
            for (generation, operator), batch in self._batches.items()
        )

    def generations(self, ends: Ends) -> tuple[GenerationStory, ...]:
        """Each generation's children, in order, with the population it left."""
        return tuple(_generation(place, found, ends) for place, found in self._generations.items())

    def operators(self) -> tuple[OperatorUse, ...]:
        """Where the completions went, by operator in order of first use."""
        return tuple(
            OperatorUse(operator, use.asked, use.answered, use.tokens, use.cut_off, dict(use.fates))
            for operator, use in self._uses.items()
        )

    def failures(self) -> tuple[tuple[str, int], ...]:
        """Why children were not valid, most frequent reason first; equals in order of appearance."""
        return tuple(self._failures.most_common())


def _generation(place: int, found: _Generation, ends: Ends) -> GenerationStory:
    best, worst = ends.get(place, (None, None))
    return GenerationStory(
        generation=place,
        children=found.children,
        valid=found.valid,
        candidates=len(found.candidates),
        costs=len(found.costs),
        best=best,
        worst=worst,
        place=found.place,
    )
