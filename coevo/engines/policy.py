"""How an engine keeps and moves its weights: what the user chose, apart from the evolution strategy's own numbers."""

from typing import Literal, cast

from pydantic import BaseModel, ConfigDict

from coevo.interfaces import UpdateRule

Storage = Literal["float32", "bfloat16", "float16"]
Restore = Literal["auto", "copy", "host", "tiles", "mapped"]


class WeightPolicy(BaseModel):
    """Scope and update rule decide bits and belong to the recipe; the restore mode decides memory and never a bit."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    scope: str = "full"
    """Which tensors move: "full", "linear" (the matrices of the blocks), or a regular expression of their names."""

    update_rule: UpdateRule = "master"
    """How 16-bit weights take an update: in fp32 masters, rounded once stochastically, or rounded once to nearest."""

    restore: Restore = "auto"
    """Where the unperturbed weights are while a member is served: a copy on the same device, one on the host, only the
    touched tiles of a subspace, or a scratch file mapped into memory; "auto" is "copy"."""


def exact_storage(dtype: str, rule: UpdateRule) -> Storage:
    """Type of the exact base of a model that is served in a type: fp32 under "master", the served type otherwise."""
    return "float32" if rule == "master" or dtype not in ("bfloat16", "float16") else cast(Storage, dtype)
