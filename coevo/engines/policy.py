"""How an engine keeps and moves its weights: what the user chose, apart from the evolution strategy's own numbers."""

import logging
import re
from typing import Literal

from pydantic import BaseModel, ConfigDict, field_validator, model_validator

from coevo.errors import ConfigError
from coevo.interfaces import UpdateRule

_log = logging.getLogger(__name__)

FROZEN = "none"
"""The scope of a model that does not move."""

GUIDED = "guided"
"""The scope of weights that move in the span of a basis, in the tensors that it covers."""

Restore = Literal["auto", "copy", "host", "tiles", "mapped"]


class WeightPolicy(BaseModel):
    """Scope and update rule decide bits and belong to the recipe; the restore mode decides memory and never a bit."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    scope: str = "full"
    """Which tensors move: "full", "linear" (the matrices of the blocks), "guided" (those of a basis, and only in its
    span), "none", or a regular expression of names."""

    basis: str = ""
    """File of the basis for scope guided; empty for the `guided.basis` beside the model's weights."""

    update_rule: UpdateRule = "master"
    """How 16-bit weights take an update: in fp32 masters, rounded once stochastically, or rounded once to nearest."""

    restore: Restore = "auto"
    """Where the unperturbed weights are while a member is served: a copy on the same device, one on the host, only the
    touched tiles of a subspace, or a scratch file mapped into memory. "auto" is "copy", or on a GPU that it would fill
    "host"."""

    @field_validator("scope")
    @classmethod
    def _compiles(cls, scope: str) -> str:
        try:
            re.compile(scope)
        except re.error as error:
            raise ValueError(
                f"expected full, linear, guided or a regular expression, got {scope!r}: {error}"
            ) from error
        return scope

    @model_validator(mode="after")
    def _basis_is_used(self) -> "WeightPolicy":
        if self.basis and self.scope not in (GUIDED, FROZEN):
            raise ValueError(f"a basis goes with scope guided, got scope {self.scope!r}; take scope guided, or drop it")
        return self


def check_rank(rank: int, policy: WeightPolicy) -> None:
    """Refuse low-rank members where an update would move what no member has shown.

    Raises:
        ConfigError: Unless the scope is the matrices that low-rank noise is for.
    """
    if rank > 0 and policy.scope not in ("linear", FROZEN):
        raise ConfigError(
            f"noise of rank {rank} moves the matrices of the blocks: expected scope linear, got {policy.scope}"
        )


def warn_of_idle_rule(policy: WeightPolicy, served: str) -> None:
    """Say that an update rule makes no difference to weights that are served in fp32: there is nothing to round."""
    if served == "float32" and policy.update_rule != "master" and policy.scope != FROZEN:
        _log.warning(
            "the model is in float32, which takes every update unrounded: update rule %s has no effect; drop it, or "
            "store the model in bfloat16",
            policy.update_rule,
        )
