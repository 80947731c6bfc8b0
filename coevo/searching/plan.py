"""How a budget becomes generations: one pure function, so that the cost of a search is known before it starts."""

from collections.abc import Mapping
from dataclasses import dataclass

from coevo.searching.config import OPERATORS, SearchConfig

Counts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a search will ask for.

    Attributes:
        first: Completions of i1 for the first population; none in a search by sampling, which is i1 throughout.
        generations: For each generation, completions by operator, in order.
        charged: Units of budget the plan spends if it runs to its end.
        on_top: Completions of the first population that a published recipe does not charge.
    """

    first: int
    generations: tuple[Counts, ...]
    charged: int
    on_top: int = 0


def plan(config: SearchConfig, evolving: frozenset[str] = frozenset({"m1", "m2"})) -> Plan:
    """Divide a budget into the first population and whole generations; the rest goes to the last generation.

    Args:
        config: The search; its method, budget, population, batch and ES sizes decide.
        evolving: Operators at which the model evolves: they get members × children completions each.

    Returns:
        A plan that spends exactly the budget. A budget too small for one generation is spread over one short one.
    """
    step = config.evolution_strategy.members * config.evolution_strategy.children
    if config.method == "sample":
        return Plan(0, _generations({"i1": step}, config.budget), config.budget)
    first = min(config.population, config.budget) if config.charge_first else config.population
    left = config.budget - first if config.charge_first else config.budget
    full = {name: step if name in evolving else config.batch for name in OPERATORS}
    return Plan(first, _generations(full, left), config.budget, 0 if config.charge_first else first)


def _generations(full: Counts, completions: int) -> tuple[Counts, ...]:
    count, rest = divmod(completions, sum(full.values()))
    generations = [full] * count
    if rest:
        last = generations.pop() if generations else dict.fromkeys(full, 0)
        generations.append(_spread(last, rest))
    return tuple(generations)


def _spread(counts: Counts, extra: int) -> Counts:
    """Add extra completions as evenly as possible, earlier operators first."""
    share, remainder = divmod(extra, len(counts))
    return {name: count + share + (place < remainder) for place, (name, count) in enumerate(counts.items())}
