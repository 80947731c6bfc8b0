"""The noise on CUDA tensors, in Triton: the same functions and the same bits as on the host.

Multiply-add fusion is off (`enable_fp_fusion`), sums of fingerprints are integers, and nothing is added atomically, so
no device, launch or split can change a bit. Writing is in place, into the memory that captured graphs read. Nothing
here waits for the device but `fingerprint_part`.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from coevo.block import Block, matrix_shape
from coevo.interfaces import Member, Update, UpdateRule
from coevo.noise.arrays import is_gapless
from coevo.noise.basis import Basis
from coevo.noise.fields import field_of_member, field_of_normals, field_of_update
from coevo.noise.fingerprint import name_key
from coevo.noise.kernels import Field
from coevo.noise.keys import rounding_key
from coevo.noise.table import normal_table
from coevo.noise.triton_device import IS_INTERPRETED, add_directions, sum_hashes, write_member
from coevo.noise.updates import check_rule

Step = TypeVar("Step", Member, Update)

COUNTERS = 128
"""Philox calls of one program: 1,024 elements, eight for each of the 128 threads of four warps."""

_KINDS = {torch.float32: 0, torch.bfloat16: 1, torch.float16: 2}
_HOST_TYPES: dict[torch.dtype, np.dtype[Any]] = {
    torch.float32: np.dtype(np.float32),
    torch.bfloat16: np.dtype(np.uint16),
    torch.float16: np.dtype(np.float16),
}


def normals(block: Block, run_key: int, step: int, direction: int, device: Any = "cuda") -> Tensor:
    """ε of a block on a device; see `coevo.noise.normals`."""
    out = torch.zeros(block.rows, block.cols, dtype=torch.float32, device=device)
    # 0 + 1 · ε is ε: no entry of the table is zero.
    perturb(out, out, block, Member(run_key, step, direction, 1, 1.0))
    return out


def perturb(base: Tensor, out: Tensor, block: Block, member: Member, *, basis: Basis | None = None) -> None:
    """Write a member's weights into `out`, which may be `base` itself; see `coevo.noise.perturb`.

    Args:
        base: float32, or bfloat16 or float16 like `out`; shape (block.rows, block.cols), contiguous within a row.
        out: Receives the result, on the same device.
        block: Where the elements lie in their tensor.
        member: The member.
        basis: The basis of a guided member; its factors are made on the host.

    Raises:
        ValueError: If tensors or member are not as described, or the basis is not the member's.
        ModelError: If the basis does not cover the tensor.
    """
    _check("base", base, block)
    _check("out", out, block)
    if base.dtype not in (torch.float32, out.dtype) or base.device != out.device:
        raise ValueError(
            f"base must be float32 or, like out, {out.dtype} on {out.device}, got {base.dtype} on {base.device}"
        )
    field = field_of_member(block, _without_rank(member), basis=basis)
    launch = _Launch(block, field, member.rank, base, out)
    left, right = launch.factors([member.direction], member)
    if not block.size:
        return
    write_member[launch.grid](
        _words(out), _words(base), launch.strides[1], launch.strides[0], *launch.numbers(),
        _signed(field.noise.keys[0]), float(field.noise.coefficients[0]),
        _table(out.device), left, right, launch.root, *launch.cut(),
        int(field.noise.subspaces[0]), _KINDS[out.dtype], _KINDS[base.dtype], int(field.cut.unit), launch.rank,
        base.data_ptr() == out.data_ptr(), launch.is_aligned, COUNTERS, enable_fp_fusion=False,
    )  # fmt: skip


def apply_update(
    weights: Tensor, block: Block, update: Update, rule: UpdateRule, *, basis: Basis | None = None
) -> None:
    """Add Σᵢ coefficientᵢ · εᵢ to weights in place; see `coevo.noise.apply_update`.

    Raises:
        ValueError: If tensor, update or rule are not as described, or the basis is not the update's.
        ModelError: If the basis does not cover the tensor.
    """
    _check("weights", weights, block)
    check_rule(rule, _HOST_TYPES[weights.dtype])
    field = field_of_update(block, _without_rank(update), basis=basis)
    if not block.size or not update.directions:
        return
    launch = _Launch(block, field, update.rank, weights)
    noise, device = field.noise, weights.device
    on_device = [
        # A copy, as what is kept for the next call is read-only.
        torch.from_numpy(values.copy()).to(device)
        for values in (
            noise.keys.view(np.int64),
            noise.coefficients,
            noise.subspaces.astype(np.int32),
            noise.is_moved.astype(np.int32),
        )
    ]
    is_random = rule == "stochastic" and weights.dtype == torch.bfloat16
    left, right = launch.factors(update.directions, update)
    start, width, cols, chunks, tensor = launch.numbers()
    add_directions[launch.grid](
        _words(weights), launch.strides[0], start, width, cols, chunks, launch.rows, tensor, *on_device,
        len(noise.keys), _table(device), left, right, launch.root, *launch.cut(),
        _signed(rounding_key(update.run_key, update.step)), _KINDS[weights.dtype], int(field.cut.unit), launch.rank,
        is_random, launch.is_aligned, COUNTERS, enable_fp_fusion=False,
    )  # fmt: skip


def fingerprint_part(values: Tensor, block: Block) -> int:
    """What a block adds to the fingerprint; see `coevo.noise.fingerprint_part`.

    Raises:
        ValueError: If the tensor is not as described.
    """
    _check("values", values, block)
    if not block.size:
        return 0
    launch = _Launch(block, field_of_normals(block, 0, 0, 0), 0, values)
    sums = torch.empty(launch.grid, dtype=torch.int64, device=values.device)
    words = values.view(torch.int32 if values.itemsize == 4 else torch.int16)
    start, width, cols, chunks, _ = launch.numbers()
    key = _signed(name_key(block.tensor, values.itemsize))
    bits = 8 * values.itemsize
    sum_hashes[launch.grid](
        sums, words, launch.strides[0], start, width, cols, chunks, key, bits, launch.is_aligned, COUNTERS,
        enable_fp_fusion=False,
    )  # fmt: skip
    return int(sums.sum().item()) % 2**64


class _Launch:
    """How a rectangle is divided among programs, and the arguments that say so."""

    def __init__(self, block: Block, field: Field, rank: int, *tensors: Tensor) -> None:
        self._block, self._field = block, field
        self._is_given = field.noise.right.shape[1] > 0
        self.rank = field.noise.right.shape[1] or rank
        strides = [tensor.stride(0) if block.rows > 1 else block.cols for tensor in tensors]
        is_row = self.rank == 0 and is_gapless(block, *strides)
        self.rows, self._cols = (1, block.size) if is_row else (block.rows, block.cols)
        self.strides = [block.size if is_row else stride for stride in strides]
        self._device = tensors[0].device
        self._start, self._width = block.start, block.width if self.rows > 1 else 0
        start, width = self._start, self._width
        self.is_aligned = start % 8 == 0 and width % 8 == 0
        group = 8 * COUNTERS
        before = start % group if width % group == 0 else group - 1
        self._chunks = (before + self._cols - 1) // group + 1
        self.grid = (self.rows * self._chunks,)
        self.root = float(np.float32(1.0 / math.sqrt(1 if self._is_given else rank or 1)))

    def numbers(self) -> tuple[int, int, int, int, int]:
        """Start, width, columns, programs per row, tensor key."""
        place = _signed(self._start), _signed(self._width)
        return *place, self._cols, self._chunks, _signed(self._field.grid.tensor)

    def cut(self) -> tuple[int, int]:
        """Key and number of the subspaces."""
        return _signed(self._field.cut.key), int(self._field.cut.parts)

    def factors(self, directions: Sequence[int], step: Member | Update) -> tuple[Tensor, Tensor]:
        """Factors of the block, shapes (directions, rows, r) and (directions, r, cols), or dummies."""
        block, device = self._block, self._device
        if self.rank == 0:
            return (_table(device),) * 2
        if self._is_given:
            left, right = self._field.noise.left, self._field.noise.right
            return torch.from_numpy(left).to(device), torch.from_numpy(right).to(device)
        height, width = matrix_shape(block.shape)
        parts = []
        for part, size, start, count in (("A", height, block.row, block.rows), ("B", width, block.col, block.cols)):
            place = Block(f"{block.tensor}#{part}", (size, self.rank), start, 0, count, self.rank)
            made = [normals(place, step.run_key, step.step, direction, device) for direction in directions]
            parts.append(torch.stack(made))
        return parts[0], parts[1].transpose(1, 2).contiguous()


def _without_rank(step: Step) -> Step:
    """The same noise without low-rank factors, which are made on the device; guided noise keeps its own."""
    return step if step.basis else replace(step, rank=0)


@cache
def _table(device: torch.device) -> Tensor:
    return torch.from_numpy(normal_table().copy()).to(device)


def _check(label: str, tensor: Tensor, block: Block) -> None:
    if not tensor.is_cuda and not IS_INTERPRETED:
        raise ValueError(f"{label} must be a CUDA tensor, got one on {tensor.device}; use coevo.noise on the host")
    if tensor.dtype not in _KINDS:
        raise ValueError(f"{label} must be float32, bfloat16 or float16, got {tensor.dtype}")
    if tuple(tensor.shape) != (block.rows, block.cols):
        raise ValueError(
            f"{label} must have the shape ({block.rows}, {block.cols}) of its block, got {tuple(tensor.shape)}"
        )
    if block.cols > 1 and tensor.stride(1) != 1:
        raise ValueError(f"{label} must have contiguous rows, got the strides {tensor.stride()}")


def _words(tensor: Tensor) -> Tensor:
    """What the kernels read: bfloat16 as its bits."""
    return tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor


def _signed(word: Any) -> int:
    """A 64-bit word as the signed number of the same bits."""
    number = int(word)
    return number - 2**64 if number >= 2**63 else number
