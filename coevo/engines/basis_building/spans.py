"""The columns and rows that several matrices share best, found by going through the matrices a few times.

Subspace iteration (Halko, Martinsson, Tropp 2011, arXiv:0909.4061, section 4.5) on Σ G·Gᵀ and Σ Gᵀ·G, which are never
formed: besides one vector nothing is held but twice as many columns as are wanted.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from coevo.engines.basis_building.vectors import FloatArray, Vectors

Bytes = NDArray[np.int8]

_PASSES = 3
_LARGEST = 127


def shared_spans(
    vectors: Vectors, shapes: Mapping[str, tuple[int, int]], rank: int, seed: int
) -> dict[str, tuple[Bytes, Bytes]]:
    """For each tensor the columns L and rows R between which most of the vectors' squared length lies.

    Args:
        vectors: k vectors.
        shapes: Checkpoint name -> (rows, cols).
        rank: Most columns of L and rows of R.
        seed: Of the columns that the search begins with.

    Returns:
        L of shape (rows, a) and R of shape (b, cols), int8, a and b at most `rank`: orthonormal but for rounding and
        the scale of each column.
    """
    wanted = {name: (min(rank, rows), min(rank, cols)) for name, (rows, cols) in shapes.items()}
    spans = {
        name: tuple(_start(size, 2 * rank, [seed, place, side]) for side, size in enumerate(shape))
        for place, (name, shape) in enumerate(shapes.items())
    }
    for turn in range(_PASSES):
        images = {name: [np.zeros_like(span) for span in both] for name, both in spans.items()}
        for vector in vectors.each():
            for name, (left, right) in spans.items():
                matrix = vector[name]
                images[name][0] += matrix @ (matrix.T @ left)
                images[name][1] += matrix.T @ (matrix @ right)
        is_last = turn == _PASSES - 1
        spans = {
            name: tuple(
                _leading(span, image, count) if is_last else np.linalg.qr(image)[0]
                for span, image, count in zip(both, images[name], wanted[name], strict=True)
            )
            for name, both in spans.items()
        }
    return {name: (in_bytes(left), np.ascontiguousarray(in_bytes(right).T)) for name, (left, right) in spans.items()}


def in_bytes(columns: FloatArray) -> Bytes:
    """Each column scaled to the range of 8 bits and rounded; the span moves by what rounding does."""
    largest = np.maximum(np.abs(columns).max(axis=0), np.finfo(np.float32).tiny)
    rounded: Bytes = np.rint(columns * (_LARGEST / largest)).astype(np.int8)
    return rounded


def _start(size: int, columns: int, seed: list[int]) -> FloatArray:
    """Orthonormal columns; all of them where the space has no more."""
    if size <= columns:
        return np.eye(size, dtype=np.float32)
    drawn = np.random.default_rng(seed).standard_normal((size, columns), np.float32)
    return np.linalg.qr(drawn)[0]


def _leading(span: FloatArray, image: FloatArray, count: int) -> FloatArray:
    """The best `count` directions within a span, whose image under the symmetric map is known."""
    inside = span.T @ image
    order = np.linalg.eigh((inside + inside.T).astype(np.float64))[1][:, ::-1]
    return span @ order[:, :count].astype(np.float32)
