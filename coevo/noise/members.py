"""Perturbed copies of weights: round(base + sign · sigma · ε), always from the base; nothing is ever subtracted."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.block import Block
from coevo.interfaces import Member
from coevo.noise.arrays import elements_of
from coevo.noise.basis import Basis
from coevo.noise.fields import field_of_member, field_of_normals, plain
from coevo.noise.formats import FP32
from coevo.noise.kernels import write_member, write_normals


def normals(block: Block, run_key: int, step: int, direction: int) -> NDArray[np.float32]:
    """ε of a block: shape (block.rows, block.cols), fp32, standard normal.

    Meant for small blocks (tests, reports, factors): whole tensors go through `perturb` and `apply_update`.

    Raises:
        ValueError: If a number is not in [0, 2⁶⁴).
    """
    out = np.empty((block.rows, block.cols), np.float32)
    if block.size:
        write_normals(out, plain(field_of_normals(block, run_key, step, direction)))
    return out


def perturb(base: NDArray[Any], out: NDArray[Any], block: Block, member: Member, *, basis: Basis | None = None) -> None:
    """Write a member's weights: round(fl(base + fl(sign · sigma · ε))) on its subspace, round(base) elsewhere.

    sign · sigma is rounded to fp32 first; the sum is rounded to the type of `out` to nearest, ties to even.

    Args:
        base: Unperturbed weights, shape (block.rows, block.cols), float32 or of the type of `out`; not changed.
        out: Receives the result: float32, uint16 (the bits of bfloat16) or float16. It has no memory in common with
            `base`, or is the same array, whose touched elements the caller has saved (see `touched`).
        block: Where the elements lie in their tensor.
        member: With a rank r, ε = fl(1/√r) · Σⱼ A[row, j] · B[col, j], summed in fp32 in the order of j; see `factors`.
        basis: The basis of a guided member, whose ε `coevo.noise.guided` defines.

    Raises:
        ValueError: If arrays or member are not as described, or the basis is not the member's.
        ModelError: If the basis does not cover the tensor.
    """
    source, target = elements_of("base", base, block), elements_of("out", out, block, is_written=True)
    if source[2] not in (FP32, target[2]):
        raise ValueError(f"base must be float32 or, like out, {out.dtype}, got {base.dtype}")
    is_shared = np.may_share_memory(base, out)
    if is_shared and base.__array_interface__ != out.__array_interface__:
        raise ValueError("out must be base itself or share no memory with it; pass another array")
    field = field_of_member(block, member, source[1], target[1], basis=basis)
    if block.size:
        write_member(target, source, plain(field), is_shared)
