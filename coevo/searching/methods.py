"""What a method asks for in a generation: its operators, in order, and at which of them the model evolves."""

from dataclasses import replace

from coevo.evolution.operators import Operator, load_operators
from coevo.searching.config import OPERATORS, SearchConfig

FIRST = "i1"
"""The operator that reads no parents: it makes the first population, and everything in a search by sampling."""


def operators_of(config: SearchConfig) -> dict[str, Operator]:
    """The operators a search uses, by name; i1 first.

    A search by sampling has nothing but i1, so the model evolves there whatever the operator's file says.

    Raises:
        ContentError: If one is missing or malformed.
    """
    if config.method == "sample":
        return {FIRST: replace(load_operators((FIRST,))[FIRST], evolves_model=True)}
    return load_operators((FIRST, *OPERATORS))
