"""What a user asks of a search that would have no effect: refused, where a configuration read from a run is not."""

from collections.abc import Mapping
from typing import Any

from coevo.errors import ConfigError

_OF_ASKING = ("model", "temperature", "top_p", "max_tokens")
_OF_UPDATES = ("alpha", "alpha_rule", "spread", "update_rule")
_OF_MOVING = (
    *_OF_UPDATES, "sigma", "sigma_end", "schedule", "antithetic", "subspaces", "subspace_unit", "z_scores", "restore"
)  # fmt: skip


def refuse_idle(values: Mapping[str, Any]) -> None:
    """Refuse what a user asked for and would not get; recorded configurations hold defaults that are as idle.

    Args:
        values: Fields the user named for this search alone, not those of a file that others may share.

    Raises:
        ConfigError: If the grammar, which has no model, is given something for one; if something is said of an
            evolution strategy that is off, or of updates that are never made.
    """
    given = {**values, **_as_mapping(values.get("weights")), **_as_mapping(values.get("evolution_strategy"))}
    is_grammar = given.get("method") == "grammar"
    rules = (
        (is_grammar and given.get("es", "off") != "off", ("es",), "method grammar has no model to evolve"),
        (is_grammar, (*_OF_ASKING, "guard", "learns", *_OF_MOVING), "method grammar asks no model"),
        (given.get("es") == "off", _OF_MOVING, "es off moves no weights"),
        (given.get("learns") is False, _OF_UPDATES, "noise only makes no updates"),
        (given.get("schedule") == "constant", ("sigma_end",), "a constant schedule has no end"),
    )
    for applies, names, reason in rules:
        for name in names if applies else ():
            if name in given:
                raise ConfigError(f"{reason}, got {name} {given[name]}; drop {name}, or what makes it idle")


def _as_mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
