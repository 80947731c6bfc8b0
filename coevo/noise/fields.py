"""What a kernel has to know about the noise of a rectangle, from the values that cross the contracts.

A model has many small tensors, and a member or an update meets all of them, so what depends on the block alone and
what depends on the step alone is kept for the next call. Both are pure functions of frozen values.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from coevo.block import Block, matrix_shape
from coevo.interfaces import Member, Update
from coevo.noise.basis import Basis, checked
from coevo.noise.compiled import Floats, Plain
from coevo.noise.guided import guided_factors
from coevo.noise.kernels import Field, Noise, write_run
from coevo.noise.keys import direction_key, tensor_key
from coevo.noise.subspaces import Cut, check_subspace, cut_of
from coevo.noise.table import normal_table
from coevo.noise.walking import Grid

PANEL = 512
"""Columns that low-rank noise takes at a time, down all rows: their factors stay in the second-level cache."""

_DENSE = np.zeros((0, 0, 0), np.float32)
"""In the place of either factor where there are none."""

_TOO_LARGE = 2.0**128 - 2.0**103
"""The least number that fp32 rounds to infinity."""


def field_of_member(block: Block, member: Member, *strides: int, basis: Basis | None = None) -> Field:
    """The noise of one member, multiplied by sign · sigma.

    Args:
        block: Where the elements lie in their tensor.
        member: The member.
        strides: Elements from one row to the next in each array at work. Where none has a gap, a rectangle that has
            none in its tensor is one long row; noise made of factors needs its rows.
        basis: The basis of a guided member.

    Raises:
        ValueError: If a number of the member is out of its range, or the basis is not the member's.
        ModelError: If the basis does not cover the tensor.
    """
    # A cache takes -0.0 for 0.0, but the sign of zero is in the bits of the result.
    step = _step_of_member(member, math.copysign(1.0, member.sigma) < 0.0)
    if (guide := checked(basis, member.basis, "this member")) is not None:
        return _guided_field(block, *step, guide)
    return _field(block, *step, member.rank, strides)


def field_of_update(block: Block, update: Update, *strides: int, basis: Basis | None = None) -> Field:
    """The noise of an update's directions, each multiplied by its coefficient; see `field_of_member`.

    Guided noise is one direction with a coefficient of 1: the sum of all, as `coevo.noise.guided` defines it.

    Raises:
        ValueError: If the update is not complete, one of its numbers is out of its range, or the basis is not its own.
        ModelError: If the basis does not cover the tensor.
    """
    noise, cut = _step_of_update(update)
    if (guide := checked(basis, update.basis, "this update")) is None:
        return _field(block, noise, cut, update.rank, strides)
    keys, one = noise.keys[:1], np.ones(len(noise.keys[:1]), np.float32)
    factors = guided_factors(block, guide, noise.keys, noise.coefficients)
    summed = noise._replace(keys=keys, coefficients=one, subspaces=noise.subspaces[:1])
    return _from_factors(block, summed, cut, factors)


def field_of_normals(block: Block, run_key: int, step: int, direction: int, *strides: int) -> Field:
    """The noise of one direction; see `field_of_member`."""
    return field_of_member(block, Member(run_key, step, direction, 1, 1.0), *strides)


def plain(field: Field) -> Plain:
    """A field as a kernel takes it."""
    return tuple(field.grid), tuple(field.noise), tuple(field.cut)


def factors(
    tensor: str, shape: tuple[int, ...], member: Member, *, basis: Basis | None = None
) -> tuple[Floats, Floats]:
    """The two factors of a member's low-rank noise ε = A · Bᵀ / √r (EGGROLL, arXiv:2511.16652, section 4).

    Args:
        tensor: Name of the tensor in the checkpoint.
        shape: Its shape; seen as a matrix of (rows, cols), the columns being its last dimension.
        member: A member of rank r ≥ 1, or a guided one. Its sign, sigma and subspace do not enter.
        basis: The basis of a guided member.

    Returns:
        A of shape (rows, r) and B of shape (cols, r), fp32, standard normal: the noise of the tensors "<name>#A" and
        "<name>#B" of these shapes. The caller multiplies by sign · sigma / √r. For a guided member ε = A · Bᵀ.

    Raises:
        ValueError: If the rank is less than 1, or the basis is not the member's.
        ModelError: If the basis does not cover the tensor.
    """
    if (guide := checked(basis, member.basis, "this member")) is not None:
        field = field_of_member(Block.whole(tensor, shape), member, basis=guide)
        return field.noise.left[0], np.ascontiguousarray(field.noise.right[0].T)
    if member.rank < 1:
        raise ValueError(f"factors need a rank of at least 1, got {member.rank}")
    rows, cols = matrix_shape(shape)
    key = np.uint64(direction_key(member.run_key, member.step, member.direction))
    return _factor(f"{tensor}#A", 0, rows, member.rank, key), _factor(f"{tensor}#B", 0, cols, member.rank, key)


def _field(block: Block, noise: Noise, cut: Cut, rank: int, strides: tuple[int, ...]) -> Field:
    if rank:
        left, right = _factors_of_block(block, noise, rank)
        noise = noise._replace(left=left, right=right)
    return Field(_grid(block, rank > 0, strides.count(block.cols) < len(strides)), noise, cut)


def _guided_field(block: Block, noise: Noise, cut: Cut, basis: Basis) -> Field:
    return _from_factors(block, noise, cut, guided_factors(block, basis, noise.keys, np.ones(1, np.float32)))


def _from_factors(block: Block, noise: Noise, cut: Cut, factors: tuple[Floats, Floats]) -> Field:
    left, right = (factor[None] for factor in factors)
    return Field(_grid(block, True, True), noise._replace(left=left, right=right, root=np.float32(1.0)), cut)


@lru_cache(maxsize=64)
def _step_of_member(member: Member, is_negative: bool) -> tuple[Noise, Cut]:
    """What a member's noise is in any block; `is_negative` only tells two members apart."""
    if member.sign not in (1, -1):
        raise ValueError(f"a member's sign must be 1 or -1, got {member.sign}")
    if member.partition is None:
        check_subspace(member.subspace, None)
    subspaces = (member.subspace,) if member.partition is not None else ()
    coefficients = _finite_fp32("sigma", (member.sign * member.sigma,))
    directions = (member.direction,)
    step = Update(member.run_key, member.step, directions, (), member.partition, subspaces, member.rank, member.basis)
    return _step(step, coefficients)


@lru_cache(maxsize=8)
def _step_of_update(update: Update) -> tuple[Noise, Cut]:
    """What an update's noise is in any block; the sign of a coefficient of zero is lost in a sum that starts at 0."""
    count, wanted = len(update.directions), 0 if update.partition is None else len(update.directions)
    if len(update.coefficients) != count:
        raise ValueError(f"expected one coefficient per direction, got {len(update.coefficients)} for {count}")
    if len(update.subspaces) != wanted:
        raise ValueError(f"expected {wanted} subspaces for {count} directions, got {len(update.subspaces)}")
    return _step(update, _finite_fp32("coefficients", update.coefficients))


def _step(step: Update, coefficients: Floats) -> tuple[Noise, Cut]:
    if step.rank < 0:
        raise ValueError(f"a rank must not be negative, got {step.rank}")
    if step.basis and (step.rank or step.partition is not None):
        raise ValueError("guided noise lies in the span of its basis: expected neither a rank nor a partition")
    cut = cut_of(step.run_key, step.step, step.partition)
    subspaces = np.zeros(len(coefficients), np.int64)
    for k, subspace in enumerate(step.subspaces):
        check_subspace(subspace, step.partition)
        subspaces[k] = subspace
    is_moved = np.zeros(int(cut.parts), np.bool_)
    is_moved[subspaces] = True
    keys = np.array([direction_key(step.run_key, step.step, d) for d in step.directions], np.uint64)
    for kept in (keys, coefficients, subspaces, is_moved):
        kept.setflags(write=False)
    root = np.float32(1.0 / math.sqrt(step.rank or 1))
    return Noise(normal_table(), keys, coefficients, subspaces, is_moved, _DENSE, _DENSE, root), cut


@lru_cache(maxsize=1024)
def _grid(block: Block, is_low_rank: bool, has_gaps: bool) -> Grid:
    """How to walk a rectangle. A width is of no use to a single row, and may not fit into 64 bits."""
    if math.prod(block.shape) > 2**64:
        raise ValueError(f"a tensor may have 2^64 elements, got the shape {block.shape} of {block.tensor!r}")
    is_row = block.is_contiguous and not has_gaps and not is_low_rank
    rows, cols = (1, block.size) if is_row else (block.rows, block.cols)
    return Grid(
        np.int64(rows),
        np.int64(cols),
        np.uint64(block.start if block.size else 0),
        np.uint64(block.width if rows > 1 else 0),
        np.uint64(tensor_key(block.tensor)),
        np.int64(PANEL if is_low_rank else cols or 1),
    )


def _factors_of_block(block: Block, noise: Noise, rank: int) -> tuple[Floats, Floats]:
    count = len(noise.keys)
    left, right = np.empty((count, block.rows, rank), np.float32), np.empty((count, rank, block.cols), np.float32)
    for k, key in enumerate(noise.keys):
        left[k] = _factor(f"{block.tensor}#A", block.row, block.rows, rank, key)
        right[k] = _factor(f"{block.tensor}#B", block.col, block.cols, rank, key).T
    return left, right


def _factor(tensor: str, first: int, count: int, rank: int, key: np.uint64) -> Floats:
    """Rows first, …, first + count - 1 of a factor of `rank` columns."""
    out = np.empty((count, rank), np.float32)
    write_run(out.reshape(-1), normal_table(), key, np.uint64(tensor_key(tensor)), np.uint64(first * rank))
    return out


def _finite_fp32(label: str, values: Sequence[float]) -> Floats:
    if not all(abs(value) < _TOO_LARGE for value in values):
        raise ValueError(f"{label} must be finite in fp32, got {list(values)}")
    return np.array(values, np.float32)
