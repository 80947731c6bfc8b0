"""Which checkpoint tensors are no weights of their own: the one place that says so, for every engine and for reports.

A model whose output head is its embedding has one tensor for both. Some checkpoints store it twice; the copy must not
move by itself, nor be counted. Position tables, which old checkpoints hold, are computed and not trained.
"""

from collections.abc import Mapping
from typing import Any

from coevo.engines.scope import Shape, roles

_POSITION_TABLE = "rotary_emb.inv_freq"


def is_tied(shapes: Mapping[str, Shape], config: Mapping[str, Any]) -> bool:
    """Whether the output head is the embedding: what the configuration says, or else that there is no head.

    Args:
        shapes: Checkpoint name -> shape of the whole tensor.
        config: The model's configuration; where it has one for its text part, that counts first.
    """
    inner = config.get("text_config")
    for part in (inner if isinstance(inner, Mapping) else {}, config):
        if (told := part.get("tie_word_embeddings")) is not None:
            return bool(told)
    return "head" not in roles(shapes).values()


def tied_copies(shapes: Mapping[str, Shape], config: Mapping[str, Any]) -> list[str]:
    """The output heads that a checkpoint of tied weights stores beside an embedding of the same shape."""
    if not is_tied(shapes, config):
        return []
    by_role = roles(shapes)
    embeddings = {tuple(shapes[name]) for name, role in by_role.items() if role == "embedding"}
    return [name for name, role in by_role.items() if role == "head" and tuple(shapes[name]) in embeddings]


def own_names(shapes: Mapping[str, Shape], config: Mapping[str, Any]) -> list[str]:
    """The tensors that have weights of their own: neither tied copies nor position tables; in the order given."""
    copies = tied_copies(shapes, config)
    return [name for name in shapes if name not in copies and not name.endswith(_POSITION_TABLE)]
