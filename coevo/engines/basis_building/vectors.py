"""The vectors that a basis is made of, one at a time: a large model's gradients would not fit into memory together."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from coevo.block import matrix_shape
from coevo.engines.checkpoint import TensorInfo, read_headers
from coevo.errors import ModelError

FloatArray = NDArray[np.float32]
Vector = dict[str, FloatArray]
"""Checkpoint name -> values, shape (rows, cols) as blocks see the tensor."""

_HELD_BYTES = 1 << 30


class Vectors(Protocol):
    """Vectors that can be gone through several times, always the same."""

    count: int
    """k."""

    def each(self) -> Iterator[Vector]:
        """Every vector in order."""


class RandomVectors:
    """Standard normal vectors: a control that knows nothing of the model.

    Args:
        shapes: Checkpoint name -> shape.
        count: How many.
        seed: Of vector n and tensor t: a stream of its own.
    """

    def __init__(self, shapes: Mapping[str, tuple[int, ...]], count: int, seed: int) -> None:
        self.count = count
        self._shapes = shapes
        self._seed = seed

    def each(self) -> Iterator[Vector]:
        """See `Vectors`."""
        for number in range(self.count):
            yield {
                name: np.random.default_rng([self._seed, number, place]).standard_normal(
                    matrix_shape(shape), np.float32
                )
                for place, (name, shape) in enumerate(self._shapes.items())
            }


class Differences:
    """What moves a model to other checkpoints of it, such as fine-tunes: needs no gradients.

    Args:
        base: The tensors of the model, those with weights of their own.
        folders: Model folders of the other checkpoints, one vector each.

    Raises:
        ModelError: If one of them lacks a tensor, or has it in another shape.
    """

    def __init__(self, base: Mapping[str, TensorInfo], folders: Sequence[Path]) -> None:
        self.count = len(folders)
        self._base = base
        self._others = [read_headers(folder) for folder in folders]
        for folder, other in zip(folders, self._others, strict=True):
            for name, info in base.items():
                if name not in other or other[name].shape != info.shape:
                    found = other[name].shape if name in other else "none"
                    raise ModelError(f"expected tensor {name!r} of shape {info.shape} in {folder}, got {found}")

    def each(self) -> Iterator[Vector]:
        """See `Vectors`."""
        for other in self._others:
            yield {
                name: (other[name].read() - info.read()).reshape(matrix_shape(info.shape))
                for name, info in self._base.items()
            }


class Normalised:
    """Vectors scaled to length 1 over all tensors together; kept in memory where that takes less than 1 GiB.

    Raises:
        ModelError: When gone through, if a vector is zero or not finite.
    """

    def __init__(self, vectors: Vectors) -> None:
        self.count = vectors.count
        self._vectors = vectors
        self._held: list[Vector] | None = None

    def each(self) -> Iterator[Vector]:
        """See `Vectors`."""
        if self._held is not None:
            yield from self._held
            return
        held: list[Vector] = []
        for number, vector in enumerate(self._vectors.each()):
            length = squared_length(vector.values()) ** 0.5
            if not (np.isfinite(length) and length > 0):
                raise ModelError(f"expected vectors of finite length above 0 for a basis, got {length} for {number}")
            scaled = {name: values / np.float32(length) for name, values in vector.items()}
            if self.count * sum(values.nbytes for values in scaled.values()) <= _HELD_BYTES:
                held.append(scaled)
            yield scaled
        self._held = held if len(held) == self.count else None


def squared_length(arrays: Iterable[FloatArray]) -> float:
    """Sum of the squares of all elements."""
    return float(sum(np.square(values, dtype=np.float64).sum() for values in arrays))
