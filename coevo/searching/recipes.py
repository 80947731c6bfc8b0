"""Published settings by name: Agentic ESOpt (arXiv:2608.17310, table 13) and the searches it is compared with.

Every value that a recipe sets is visible in the `config.toml` of the run. EoH recipes charge the first population on
top of the budget, as published.
"""

from collections.abc import Mapping
from typing import Any

_BUDGETS = (1000, 2000)
_SIGMA = {"sigma": 1e-3, "sigma_end": 0.0, "schedule": "cosine", "alpha": 5e-4, "alpha_rule": "constant"}
_INDEPENDENT = {"parents": "independent", "seeds": "independent"}


def _eoh(budget: int) -> dict[str, Any]:
    """25 generations of 10 + 10 + G + G completions, G members with one child each at m1 and at m2."""
    strategy = {"members": {1000: 10, 2000: 30}[budget], "children": 1, **_SIGMA}
    return {
        "method": "eoh",
        "budget": budget,
        "charge_first": False,
        "reward": "difference",
        **_INDEPENDENT,
        "evolution_strategy": strategy,
    }


def _sample(budget: int) -> dict[str, Any]:
    """Batches of 20 new heuristics, an update after each."""
    strategy = {"members": 20, "children": 1, **_SIGMA}
    return {"method": "sample", "budget": budget, "population": 20, "reward": "cost", "evolution_strategy": strategy}


RECIPES: Mapping[str, Mapping[str, Any]] = {
    f"{prefix}{method}-{budget}": {**make(budget), "es": es}
    for method, make in (("eoh", _eoh), ("sample", _sample))
    for budget in _BUDGETS
    for prefix, es in (("esopt-", "dense"), ("", "off"))
}
"""Name -> fields of `SearchConfig`; `esopt-` moves the model, the others leave it as it is."""
