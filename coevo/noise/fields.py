"""What a kernel has to know about the noise of a rectangle, from the values that cross the contracts."""

import math
from collections.abc import Sequence

import numpy as np

from coevo.block import Block, matrix_shape
from coevo.interfaces import Member, Update
from coevo.noise.arrays import is_gapless
from coevo.noise.compiled import Floats
from coevo.noise.formats import Cells
from coevo.noise.kernels import Field, Noise, write_normals
from coevo.noise.keys import direction_key, tensor_key
from coevo.noise.subspaces import check_subspace, cut_of
from coevo.noise.table import normal_table
from coevo.noise.walking import Grid

PANEL = 512
"""Columns that low-rank noise takes at a time, down all rows: their factors stay in the second-level cache."""


def field_of_member(block: Block, member: Member) -> Field:
    """The noise of one member, multiplied by sign · sigma.

    Raises:
        ValueError: If a number of the member is out of its range.
    """
    if member.sign not in (1, -1):
        raise ValueError(f"a member's sign must be 1 or -1, got {member.sign}")
    coefficients = _finite_fp32("sigma", (member.sign * member.sigma,))
    step = Update(
        member.run_key,
        member.step,
        (member.direction,),
        (member.sigma,),
        member.partition,
        (member.subspace,) if member.partition is not None else (),
        member.rank,
    )
    if member.partition is None:
        check_subspace(member.subspace, None)
    return _field(block, step, coefficients)


def field_of_update(block: Block, update: Update) -> Field:
    """The noise of an update's directions, each multiplied by its coefficient.

    Raises:
        ValueError: If the update is not complete or one of its numbers is out of its range.
    """
    count, wanted = len(update.directions), 0 if update.partition is None else len(update.directions)
    if len(update.coefficients) != count:
        raise ValueError(f"expected one coefficient per direction, got {len(update.coefficients)} for {count}")
    if len(update.subspaces) != wanted:
        raise ValueError(f"expected {wanted} subspaces for {count} directions, got {len(update.subspaces)}")
    return _field(block, update, _finite_fp32("coefficients", update.coefficients))


def field_of_normals(block: Block, run_key: int, step: int, direction: int) -> Field:
    """The noise of one direction."""
    return _field(block, Update(run_key, step, (direction,), (1.0,)), np.ones(1, np.float32))


def factors(tensor: str, shape: tuple[int, ...], member: Member) -> tuple[Floats, Floats]:
    """The two factors of a member's low-rank noise ε = A · Bᵀ / √r (EGGROLL, arXiv:2511.16652, section 4).

    Args:
        tensor: Name of the tensor in the checkpoint.
        shape: Its shape; seen as a matrix of (rows, cols), the columns being its last dimension.
        member: A member of rank r ≥ 1. Its sign, sigma and subspace do not enter.

    Returns:
        A of shape (rows, r) and B of shape (cols, r), fp32, standard normal: the noise of the tensors "<name>#A" and
        "<name>#B" of these shapes. The caller multiplies by sign · sigma / √r.

    Raises:
        ValueError: If the rank is less than 1.
    """
    if member.rank < 1:
        raise ValueError(f"factors need a rank of at least 1, got {member.rank}")
    rows, cols = matrix_shape(shape)
    stream = (member.run_key, member.step, member.direction)
    left = _factor(f"{tensor}#A", rows, slice(0, rows), member.rank, stream)
    return left, _factor(f"{tensor}#B", cols, slice(0, cols), member.rank, stream)


def _field(block: Block, step: Update, coefficients: Floats) -> Field:
    if step.rank < 0:
        raise ValueError(f"a rank must not be negative, got {step.rank}")
    tensor = tensor_key(block.tensor)
    if math.prod(block.shape) > 2**64:
        raise ValueError(f"a tensor may have 2^64 elements, got the shape {block.shape} of {block.tensor!r}")
    cut = cut_of(step.run_key, step.step, step.partition)
    subspaces = np.zeros(len(coefficients), np.int64)
    for k, subspace in enumerate(step.subspaces):
        check_subspace(subspace, step.partition)
        subspaces[k] = subspace
    is_moved = np.zeros(int(cut.parts), np.bool_)
    is_moved[subspaces] = True
    keys = np.array([direction_key(step.run_key, step.step, d) for d in step.directions], np.uint64)
    left, right = _factors_of_block(block, step)
    root = np.float32(1.0 / math.sqrt(step.rank or 1))
    noise = Noise(normal_table(), keys, coefficients, subspaces, is_moved, left, right, root)
    return Field(_grid(block, tensor, step.rank), noise, cut)


def _grid(block: Block, tensor: int, rank: int) -> Grid:
    """A width is of no use to a single row, and may not fit into 64 bits."""
    width = block.width if block.rows > 1 else 0
    return Grid(
        np.int64(block.rows),
        np.int64(block.cols),
        np.uint64(block.start if block.size else 0),
        np.uint64(width),
        np.uint64(tensor),
        np.int64(PANEL if rank else block.cols or 1),
    )


def fitted(field: Field, block: Block, *arrays: Cells) -> Field:
    """The field as one long row where that is the same for these arrays; low-rank noise needs the rows."""
    if field.noise.right.shape[1] or not is_gapless(block, *(int(cells.stride) for cells in arrays)):
        return field
    return field._replace(grid=flattened(field.grid))


def flattened(grid: Grid) -> Grid:
    """The same elements as one row, for a rectangle without gaps in its tensor and in memory."""
    size = int(grid.rows) * int(grid.cols)
    return grid._replace(rows=np.int64(1), cols=np.int64(size), panel=np.int64(size or 1))


def _factors_of_block(block: Block, step: Update) -> tuple[Floats, Floats]:
    count, rank = len(step.directions), step.rank
    left, right = np.zeros((count, block.rows, rank), np.float32), np.zeros((count, rank, block.cols), np.float32)
    rows, cols = matrix_shape(block.shape)
    down, across = slice(block.row, block.row + block.rows), slice(block.col, block.col + block.cols)
    for k, direction in enumerate(step.directions if rank else ()):
        stream = (step.run_key, step.step, direction)
        left[k] = _factor(f"{block.tensor}#A", rows, down, rank, stream)
        right[k] = _factor(f"{block.tensor}#B", cols, across, rank, stream).T
    return left, right


def _factor(tensor: str, height: int, part: slice, rank: int, stream: tuple[int, int, int]) -> Floats:
    block = Block(tensor, (height, rank), part.start, 0, part.stop - part.start, rank)
    out = np.empty((block.rows, rank), np.float32)
    field = field_of_normals(block, *stream)
    write_normals(out.reshape(1, -1), field._replace(grid=flattened(field.grid)))
    return out


def _finite_fp32(label: str, values: Sequence[float]) -> Floats:
    with np.errstate(over="ignore"):
        rounded = np.asarray(values, np.float64).astype(np.float32)
    if not np.isfinite(rounded).all():
        raise ValueError(f"{label} must be finite in fp32, got {list(values)}")
    return rounded
