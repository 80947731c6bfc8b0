"""Noise in the span of a basis: ε = √(d/k) · Qᵀz, with z standard normal and Q the orthonormal rows of a basis.

The contract, in fp32, every product and sum rounded once and every sum from 0 in ascending order:

    z_i  = Σ_n coefficient_n · noise(run key, step, direction_n) of tensor "#guided" at flat index i
    a_j  = (Σ_i mixing[i, j] · z_i) · √(d/k)
    C    = Σ_j (a_j · scale_j) · core_j                        for each tensor
    ε    = Σ_q (Σ_p left[row, p] · C[p, q]) · right[q, col]

A member has one direction and coefficient 1. An update sums its directions before anything else, because noise is
linear in z: it costs as much as one member.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.block import Block, matrix_shape
from coevo.errors import ModelError
from coevo.noise.basis import Basis, BasisPart, Bytes
from coevo.noise.compiled import Floats, kernel
from coevo.noise.kernels import write_run
from coevo.noise.keys import tensor_key
from coevo.noise.table import normal_table

TENSOR = "#guided"
"""The tensor whose noise is z; no checkpoint tensor has such a name."""


def guided_factors(block: Block, basis: Basis, keys: NDArray[np.uint64], coefficients: Floats) -> tuple[Floats, Floats]:
    """Two factors whose product is the sum of some directions of guided noise in a block.

    Args:
        block: Where the elements lie in their tensor.
        basis: The basis.
        keys: Philox keys of the directions, shape (N,).
        coefficients: What each is multiplied by, shape (N,).

    Returns:
        Shapes (block.rows, b) and (b, block.cols), fp32.

    Raises:
        ModelError: If the basis does not cover the tensor, or in another shape.
    """
    part = part_of(basis, block.tensor, block.shape)
    own = BasisPart(part.left[block.row : block.row + block.rows], *part[1:])
    left = np.empty((block.rows, part.right.shape[0]), np.float32)
    name = np.uint64(tensor_key(TENSOR))
    fill_left(left, (normal_table(), name, keys, coefficients), (basis.mixing, basis.root), tuple(own))
    right = part.right[:, block.col : block.col + block.cols].astype(np.float32)
    return left, right


def part_of(basis: Basis, tensor: str, shape: tuple[int, ...]) -> BasisPart:
    """What a basis holds of a tensor.

    Raises:
        ModelError: If it does not cover it, or in another shape.
    """
    part = basis.parts.get(tensor)
    if part is None:
        raise ModelError(f"expected a basis that covers tensor {tensor!r}, got one of other tensors; build it again")
    found = (part.left.shape[0], part.right.shape[1])
    if found != matrix_shape(shape):
        raise ModelError(
            f"expected a basis of {matrix_shape(shape)} numbers for tensor {tensor!r}, got {found}; it was made for "
            f"another model ({basis.origin.architecture}): build one with `coevo model basis`"
        )
    return part


@kernel
def fill_left(left: Floats, draw: Any, mix: Any, part: Any) -> None:
    """left[row] := own left factor · C, by the contract of this module.

    Args:
        left: Shape (rows, b).
        draw: Table of normals, key of the name "#guided", Philox keys and coefficients of the directions.
        mix: The mixing matrix and √(d/k).
        part: The rows of a `BasisPart` as a plain tuple.
    """
    own, core, _, scale = part
    coordinates = basis_coordinates(draw, mix)
    mixed = mixed_core(coordinates, core, scale)
    for row in range(left.shape[0]):
        left[row, :] = 0.0
        for p in range(own.shape[1]):
            factor = np.float32(own[row, p])
            for q in range(left.shape[1]):
                left[row, q] += factor * mixed[p, q]


@kernel
def basis_coordinates(draw: Any, mix: Any) -> Floats:
    """How much of each stored vector there is: shape (k,)."""
    table, name, keys, coefficients = draw
    mixing, root = mix
    size = mixing.shape[0]
    total, drawn, out = np.zeros(size, np.float32), np.empty(size, np.float32), np.zeros(size, np.float32)
    for n in range(keys.shape[0]):
        write_run(drawn, table, keys[n], name, np.uint64(0))
        for i in range(size):
            total[i] += coefficients[n] * drawn[i]
    for i in range(size):
        for j in range(size):
            out[j] += mixing[i, j] * total[i]
    for j in range(size):
        out[j] *= root
    return out


@kernel
def mixed_core(coordinates: Floats, core: Bytes, scale: Floats) -> Floats:
    """The one core of a combination of vectors: shape (a, b)."""
    out = np.zeros((core.shape[1], core.shape[2]), np.float32)
    for j in range(core.shape[0]):
        factor = coordinates[j] * scale[j]
        for p in range(core.shape[1]):
            for q in range(core.shape[2]):
                out[p, q] += factor * np.float32(core[j, p, q])
    return out
