"""Pair a runtime model's parameters with the checkpoint tensors they came from."""

from collections.abc import Iterable, Mapping
from re import search

from coevo.engines.scope import Shape
from coevo.errors import ModelError


def match_names(
    parameters: Mapping[str, Shape], tensors: Mapping[str, Shape], *, prefix: str, ignorable: Iterable[str]
) -> dict[str, str]:
    """Pair every parameter of a model with the checkpoint tensor it came from; the pairing has to cover both sides.

    Args:
        parameters: Runtime name -> shape, each shared (tied) parameter once.
        tensors: Checkpoint name -> shape.
        prefix: Prefix (without the dot) that checkpoints of a bare base model leave out.
        ignorable: Regular expressions of checkpoint names that are no parameters: buffers, second names of tied ones.

    Returns:
        Runtime name -> checkpoint name, the canonical one.

    Raises:
        ModelError: Naming the first tensor without a partner, or the first whose shapes differ.
    """
    pairs: dict[str, str] = {}
    for name, shape in parameters.items():
        canonical = name if name in tensors else name.removeprefix(f"{prefix}.")
        if tensors.get(canonical) != shape:
            found = f"one of shape {tensors[canonical]}" if canonical in tensors else "none of that name"
            raise ModelError(
                f"expected a checkpoint tensor for parameter {name!r} of shape {shape}, found {found}: the checkpoint "
                "is not whole, or its weights are renamed or merged on loading, which exact noise cannot follow"
            )
        pairs[name] = canonical
    spare = sorted(tensors.keys() - pairs.values())
    unknown = [name for name in spare if not any(search(pattern, name) for pattern in ignorable)]
    if unknown or len(set(pairs.values())) < len(pairs):
        raise ModelError(
            f"expected every checkpoint tensor in exactly one parameter, but {(unknown or sorted(pairs))[0]!r} is not; "
            "this architecture renames or merges its weights on loading, which exact noise cannot follow"
        )
    return pairs
