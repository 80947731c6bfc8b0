"""How a budget becomes generations: one pure function, so that the cost of a search is known before it starts."""

from collections.abc import Mapping
from dataclasses import dataclass

from coevo.searching.config import OPERATORS, SearchConfig


@dataclass(frozen=True, slots=True)
class Plan:
    """What a search will ask for.

    Attributes:
        first: Completions of i1 for the first population.
        generations: For each generation, completions by operator, in order.
        charged: Units of budget the plan spends if it runs to its end.
    """

    first: int
    generations: tuple[Mapping[str, int], ...]
    charged: int


def plan(config: SearchConfig, evolving: frozenset[str] = frozenset({"m1", "m2"})) -> Plan:
    """Divide a budget into the first population and whole generations; the rest goes to the last generation.

    Args:
        config: The search; its budget, population, batch and ES sizes decide.
        evolving: Operators at which the model evolves: they get members × children completions each.

    Returns:
        A plan that spends exactly the budget. A budget too small for one generation is spread over one short one.
    """
    strategy = config.evolution_strategy
    full = {name: strategy.members * strategy.children if name in evolving else config.batch for name in OPERATORS}
    first = min(config.population, config.budget) if config.charge_first else config.population
    left = config.budget - first if config.charge_first else config.budget
    count, rest = divmod(left, sum(full.values()))
    generations = [full] * count
    if rest:
        last = generations.pop() if generations else dict.fromkeys(OPERATORS, 0)
        generations.append(_spread(last, rest))
    return Plan(first, tuple(generations), config.budget)


def _spread(counts: Mapping[str, int], extra: int) -> dict[str, int]:
    """Add extra completions as evenly as possible, earlier operators first."""
    share, remainder = divmod(extra, len(counts))
    return {name: count + share + (place < remainder) for place, (name, count) in enumerate(counts.items())}
