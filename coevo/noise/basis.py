"""A guided basis: k directions of the weights that evolution strategies are to move in, and nowhere else.

Prior idea: guided evolution strategies (arXiv:1806.10230). Here the whole noise lies in the span of stored vectors,
most usefully gradients on a corpus. The vectors share their factors, tensor by tensor: seen as a matrix, vector j is
scale_j · L · C_j · R, with L and R of the tensor and a small core C_j of its own (a Tucker decomposition in two of
three modes), all of them 8-bit integers. So the file stays small, and noise costs as many products an element as R has
rows, however many vectors there are. A mixing matrix makes the rows of the basis orthonormal.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coevo.errors import ModelError
from coevo.noise.compiled import Floats

Bytes = NDArray[np.int8]

FORMAT = "coevo-basis-v1"
PARTS = ("left", "core", "right", "scale")
_MIXING = "mixing"
_TYPES: dict[str, Any] = {"left": np.int8, "core": np.int8, "right": np.int8, "scale": np.float32}
_DIMENSIONS = {"left": 2, "core": 3, "right": 2, "scale": 1}


class BasisPart(NamedTuple):
    """One tensor of every vector: as a matrix, vector j is scale[j] · left · core[j] · right.

    Attributes:
        left: Shape (rows, a), int8.
        core: Shape (k, a, b), int8.
        right: Shape (b, cols), int8.
        scale: Shape (k,), fp32.
    """

    left: Bytes
    core: Bytes
    right: Bytes
    scale: Floats


class BasisOrigin(BaseModel):
    """How a basis was made: for the reader, without influence on the noise."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    schema_version: Literal[1] = 1
    method: str = Field(min_length=1)
    """What the vectors are: gradients, random, differences."""
    architecture: str
    """Of the model it was made for, as its `config.json` names it."""
    fingerprint: str
    """Of the weights it was made at, 16 hexadecimal digits."""
    seed: int
    source: str = ""
    """What the vectors were computed from."""
    captured: float = 0.0
    """Share of the vectors' squared length that the stored ones have kept."""


@dataclass(frozen=True, eq=False)
class Basis:
    """k vectors over the tensors they cover; the rows of mixing · vectors are orthonormal.

    Attributes:
        parts: Checkpoint name -> the vectors in that tensor.
        mixing: M, shape (k, k), fp32.
        origin: How it was made.
        identity: 64-bit hash of names, shapes and numbers, never 0; the origin is not in it.
        root: √(d/k) in fp32, by which the noise has a variance of 1 on the average of the elements.
    """

    parts: Mapping[str, BasisPart]
    mixing: Floats
    origin: BasisOrigin
    identity: int
    root: np.float32

    @classmethod
    def of(cls, parts: Mapping[str, BasisPart], mixing: Floats, origin: BasisOrigin) -> "Basis":
        """A checked basis; its arrays are read-only from here on.

        Raises:
            ValueError: If a part or the mixing matrix does not fit the others, or a number is not finite.
        """
        if mixing.dtype != np.float32 or mixing.ndim != 2 or len(mixing) == 0 or mixing.shape[0] != mixing.shape[1]:
            raise ValueError(
                f"expected a mixing matrix of k x k fp32 numbers, k > 0, got {mixing.dtype} {mixing.shape}"
            )
        if not np.isfinite(mixing).all():
            raise ValueError("expected finite numbers in the mixing matrix")
        if not parts:
            raise ValueError("expected at least one tensor, got none")
        for name, part in parts.items():
            _check_part(name, part, len(mixing))
        kept = {name: BasisPart(*(_frozen(array) for array in parts[name])) for name in sorted(parts)}
        covered = sum(part.left.shape[0] * part.right.shape[1] for part in kept.values())
        root = np.float32(math.sqrt(covered / len(mixing)))
        return cls(kept, _frozen(mixing), origin, _identity(kept, mixing), root)

    @property
    def vectors(self) -> int:
        """Their number k."""
        return len(self.mixing)

    @property
    def elements(self) -> int:
        """Elements d of all covered tensors."""
        return sum(part.left.shape[0] * part.right.shape[1] for part in self.parts.values())

    @property
    def rank(self) -> int:
        """Rows of the largest right factor: products that a member costs in each element."""
        return max(len(part.right) for part in self.parts.values())

    def require(self, identity: int, what: str) -> None:
        """Raise ValueError unless a member or an update was made for this basis."""
        if identity != self.identity:
            wanted = f"basis {identity:016x}" if identity else "none"
            raise ValueError(f"expected the basis that {what} was made for, {wanted}, got basis {self.identity:016x}")


def read_basis(file: Path) -> Basis:
    """Read a basis, refusing whatever is not exactly one.

    Raises:
        ModelError: One line on what is missing, unknown or malformed.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="np") as stored:
            arrays = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118 - no mapping
            told = (stored.metadata() or {}).get(FORMAT)
    except (OSError, SafetensorError) as error:
        raise ModelError(f"expected a basis in {file}, got no safetensors file: {error}; build it again") from error
    try:
        if told is None:
            raise ValueError(f"expected the entry {FORMAT} in its metadata, found none")
        origin = BasisOrigin.model_validate(json.loads(told))
        mixing = arrays.pop(_MIXING, np.empty((0, 0), np.float32))
        return Basis.of(_grouped(arrays), mixing, origin)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{file} is no basis: {_one_line(error)}; build it with `coevo model basis`") from error


def write_basis(file: Path, basis: Basis) -> None:
    """Write a basis as a safetensors file; the same basis gives the same bytes."""
    from safetensors.numpy import save

    arrays: dict[str, NDArray[Any]] = {_MIXING: basis.mixing}
    for name, part in basis.parts.items():
        arrays |= {f"{name}#{label}": array for label, array in part._asdict().items()}
    file.parent.mkdir(parents=True, exist_ok=True)
    scratch = file.with_name(f".{file.name}.part")
    scratch.write_bytes(save(arrays, {FORMAT: basis.origin.model_dump_json()}))
    scratch.replace(file)


def checked(basis: Basis | None, identity: int, what: str) -> Basis | None:
    """The basis that a member or an update needs, or None if it needs none and gets none.

    Raises:
        ValueError: If it needs one and gets none or another, or gets one that it was not made for.
    """
    if basis is None and identity == 0:
        return None
    if basis is None:
        raise ValueError(f"expected the basis {identity:016x} that {what} was made for, got none")
    basis.require(identity, what)
    return basis


def _grouped(arrays: Mapping[str, NDArray[Any]]) -> dict[str, BasisPart]:
    """The arrays of each tensor together."""
    found: dict[str, dict[str, NDArray[Any]]] = {}
    for name, array in arrays.items():
        tensor, mark, label = name.rpartition("#")
        if not (tensor and mark) or label not in PARTS:
            raise ValueError(f"expected arrays named <tensor>#{{{','.join(PARTS)}}} and {_MIXING}, got {name!r}")
        found.setdefault(tensor, {})[label] = array
    for tensor, own in found.items():
        if missing := [label for label in PARTS if label not in own]:
            raise ValueError(f"tensor {tensor!r} lacks its {missing[0]}")
    return {tensor: BasisPart(**own) for tensor, own in found.items()}


def _check_part(name: str, part: BasisPart, vectors: int) -> None:
    for label, array in part._asdict().items():
        if array.dtype != _TYPES[label] or array.ndim != _DIMENSIONS[label] or array.size == 0:
            raise ValueError(
                f"expected {label} of tensor {name!r} as {np.dtype(_TYPES[label])} in {_DIMENSIONS[label]} dimensions, "
                f"not empty, got {array.dtype} of shape {array.shape}"
            )
    wanted = (vectors, part.left.shape[1], part.right.shape[0])
    if part.core.shape != wanted or part.scale.shape != (vectors,):
        raise ValueError(
            f"expected a core of shape {wanted} and {vectors} scales for tensor {name!r}, "
            f"got {part.core.shape} and {part.scale.shape}"
        )
    if not np.isfinite(part.scale).all():
        raise ValueError(f"expected finite scales for tensor {name!r}")


def _identity(parts: Mapping[str, BasisPart], mixing: Floats) -> int:
    """The first 8 bytes, little-endian, of blake2b over every array in order of names; 1 for 0, which means none."""
    digest = hashlib.blake2b(digest_size=8, person=FORMAT.encode())
    for label, array in _in_order(parts, mixing):
        header = f"{label}|{array.dtype.str}|{','.join(map(str, array.shape))}|"
        digest.update(header.encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return int.from_bytes(digest.digest(), "little") or 1


def _in_order(parts: Mapping[str, BasisPart], mixing: Floats) -> Iterable[tuple[str, NDArray[Any]]]:
    yield _MIXING, mixing
    for name, part in parts.items():
        for label in PARTS:
            yield f"{name}#{label}", getattr(part, label)


def _frozen(array: NDArray[Any]) -> Any:
    kept = np.ascontiguousarray(array)
    if kept is array or kept.base is not None:
        kept = kept.copy()
    kept.setflags(write=False)
    return cast(Any, kept)


def _one_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return f"origin, {'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error)
