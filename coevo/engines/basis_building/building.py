"""From vectors to a basis: cores in the shared spans, rounded to 8 bits, and the mixing that makes rows orthonormal."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coevo.engines.basis_building.spans import Bytes, shared_spans
from coevo.engines.basis_building.vectors import Normalised, Vectors
from coevo.errors import ModelError
from coevo.noise.basis import Basis, BasisOrigin, BasisPart

Matrix = NDArray[np.float64]
Spans = Mapping[str, tuple[Bytes, Bytes]]

_LARGEST = 127
_LEAST_SPREAD = 1e-6
"""Smallest eigenvalue of the Gram matrix over its largest: below it vectors repeat each other."""


@dataclass(frozen=True, slots=True)
class BasisReport:
    """What a basis kept of its vectors.

    Attributes:
        captured: Share of the vectors' squared length in the spans that are kept, before rounding the cores.
        error: Relative distance of the stored vectors from the given ones: the root of the mean square.
        rounding: The part of that which rounding the cores to 8 bits has added.
        orthonormality: Largest difference of the rows' products from those of an orthonormal basis.
    """

    captured: float
    error: float
    rounding: float
    orthonormality: float


def build_basis(vectors: Vectors, rank: int, origin: BasisOrigin) -> tuple[Basis, BasisReport]:
    """A basis that spans what is stored of some vectors.

    Args:
        vectors: k of them, of any length.
        rank: Most columns of the left and rows of the right factor of each tensor.
        origin: How the vectors were made; its seed is also that of the search for the spans.

    Raises:
        ModelError: If the vectors are not independent, or one is zero or not finite.
    """
    scaled = Normalised(vectors)
    if scaled.count < 1 or rank < 1:
        raise ModelError(f"expected at least one vector and a rank of 1 for a basis, got {scaled.count} and {rank}")
    shapes = {name: values.shape for name, values in next(scaled.each()).items()}
    spans = shared_spans(scaled, shapes, rank, origin.seed)
    exact, cores = _cores(scaled, spans)
    parts = {name: BasisPart(left, *cores[name][:1], right, cores[name][1]) for name, (left, right) in spans.items()}
    gram = gram_matrix(parts)
    mixing = orthonormal_mixing(gram)
    kept, rounding = _energy(spans, exact) / scaled.count, _loss(spans, exact, cores) / scaled.count
    report = BasisReport(kept, (max(0.0, 1 - kept) + rounding) ** 0.5, rounding**0.5, _defect(gram, mixing))
    told = origin.model_copy(update={"captured": round(max(0.0, 1 - report.error**2), 6)})
    return Basis.of(parts, mixing, told), report


def gram_matrix(parts: Mapping[str, BasisPart]) -> Matrix:
    """Inner products of the stored vectors, shape (k, k)."""
    total: Matrix = np.zeros(())
    for part in parts.values():
        left, right = _gram(part.left), _gram(part.right.T)
        cores = part.core.astype(np.float64) * part.scale[:, None, None].astype(np.float64)
        flat = cores.reshape(len(cores), -1)
        total = total + flat @ (left @ cores @ right).reshape(len(cores), -1).T
    return total


def orthonormal_mixing(gram: Matrix) -> NDArray[np.float32]:
    """M with M · Gram · Mᵀ = 1: the inverse Cholesky factor, so that row j mixes the vectors up to j.

    Raises:
        ModelError: If the vectors are not independent.
    """
    values = np.linalg.eigvalsh(gram)
    if values[0] < _LEAST_SPREAD * values[-1]:
        raise ModelError(
            f"expected {len(gram)} independent vectors for a basis, but they repeat each other: take fewer vectors, a "
            "higher rank, or a larger corpus"
        )
    return np.linalg.inv(np.linalg.cholesky(gram)).astype(np.float32)


def _cores(vectors: Vectors, spans: Spans) -> tuple[dict[str, Matrix], dict[str, tuple[Bytes, NDArray[np.float32]]]]:
    """The core of every vector in every tensor by least squares: exact, and in 8 bits with a scale."""
    inverses = {
        name: (np.linalg.pinv(left.astype(np.float64)), np.linalg.pinv(right.astype(np.float64)))
        for name, (left, right) in spans.items()
    }
    found: dict[str, list[Matrix]] = {name: [] for name in spans}
    for vector in vectors.each():
        for name, (left, right) in inverses.items():
            found[name].append(left @ vector[name].astype(np.float64) @ right)
    exact = {name: np.stack(cores) for name, cores in found.items()}
    return exact, {name: _in_bytes(cores) for name, cores in exact.items()}


def _in_bytes(cores: Matrix) -> tuple[Bytes, NDArray[np.float32]]:
    scale = (np.abs(cores).max(axis=(1, 2)) / _LARGEST).astype(np.float32)
    safe = np.where(scale > 0, scale, 1).astype(np.float64)
    return np.rint(cores / safe[:, None, None]).clip(-_LARGEST, _LARGEST).astype(np.int8), scale


def _energy(spans: Spans, cores: Mapping[str, Matrix]) -> float:
    """Squared length of all vectors that these cores stand for."""
    return float(
        sum(
            np.einsum("kab,kab->", own, _gram(spans[name][0]) @ own @ _gram(spans[name][1].T))
            for name, own in cores.items()
        )
    )


def _loss(spans: Spans, exact: Mapping[str, Matrix], cores: Mapping[str, tuple[Bytes, NDArray[np.float32]]]) -> float:
    """Squared length of what rounding the cores changes."""
    changes = {
        name: exact[name] - core * scale[:, None, None].astype(np.float64) for name, (core, scale) in cores.items()
    }
    return max(0.0, _energy(spans, changes))


def _gram(columns: Bytes) -> Matrix:
    wide = columns.astype(np.float64)
    return wide.T @ wide


def _defect(gram: Matrix, mixing: NDArray[np.float32]) -> float:
    wide = mixing.astype(np.float64)
    return float(np.abs(wide @ gram @ wide.T - np.eye(len(gram))).max())
