"""Which checkpoint tensors an evolution strategy moves: a pure function of their names and shapes.

Every engine sees the same checkpoint, so every engine moves the same tensors, however it fuses or shards them.
"""

import re
from collections.abc import Collection, Mapping
from typing import Literal

from coevo.engines.policy import GUIDED
from coevo.errors import ConfigError

Shape = tuple[int, ...]
Role = Literal["embedding", "head", "linear", "norm", "bias", "other"]

ROLES: tuple[Role, ...] = ("embedding", "head", "linear", "norm", "bias", "other")

_EMBEDDING = re.compile(r"(^|[._])(embed\w*|wte|wpe|\w*embeddings?)(\.|$)")
_HEAD = re.compile(r"(^|\.)(\w*head|embed_out|output|output_layer|decoder)\.(weight|bias)$")
_IN_A_BLOCK = re.compile(r"\.\d+\.")
_NORM = re.compile(r"(norm\w*|(^|\.)ln_\w+|layernorm\w*)(\.|$)", re.IGNORECASE)


def roles(shapes: Mapping[str, Shape]) -> dict[str, Role]:
    """What each tensor does, told by its name and its number of dimensions.

    Args:
        shapes: Checkpoint name -> shape of the whole tensor.

    Returns:
        "linear" is a matrix that is neither an embedding nor the output head; vectors are norms, biases or other.
    """
    return {name: _role(name, shape) for name, shape in shapes.items()}


def names_in_scope(scope: str, shapes: Mapping[str, Shape], guided: Collection[str] = ()) -> list[str]:
    """The tensors a scope stands for, in the order given.

    Args:
        scope: "full" for all, "none" for none, "linear" for the matrices of the blocks, "guided" for what a basis
            covers, or a regular expression that is searched for in each name.
        shapes: Checkpoint name -> shape of the whole tensor.
        guided: The tensors that the basis covers.

    Raises:
        ConfigError: If the expression does not compile, or nothing is in the scope.
    """
    if scope == "full":
        return list(shapes)
    if scope == "none":
        return []
    if scope == GUIDED:
        found = [name for name in shapes if name in guided]
    elif scope == "linear":
        found = [name for name, role in roles(shapes).items() if role == "linear"]
    else:
        try:
            found = [name for name in shapes if re.search(scope, name)]
        except re.error as error:
            raise ConfigError(
                f"expected full, linear, guided or a regular expression for scope, got {scope!r}: {error}"
            ) from error
    if not found:
        example = next(iter(shapes), "none")
        raise ConfigError(
            f"expected scope {scope!r} to name at least one tensor, found none of {len(shapes)} (such as {example}); "
            "`coevo model inspect --json` lists them"
        )
    return found


def _role(name: str, shape: Shape) -> Role:
    if len(shape) > 1 and not _IN_A_BLOCK.search(name):
        if _HEAD.search(name):
            return "head"
        if _EMBEDDING.search(name):
            return "embedding"
    if len(shape) <= 1:
        return "bias" if name.endswith("bias") else "norm" if _NORM.search(name) else "other"
    return "linear" if len(shape) == 2 else "other"
