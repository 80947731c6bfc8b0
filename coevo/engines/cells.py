"""Pieces of served weights on the host, each with its unperturbed base: where restore modes and storage types differ.

A base is kept in the exact type of the update rule: fp32 under "master", the served type otherwise. Serving a member
writes round(base + sign · sigma · ε) into the served memory and serving the base writes round(base): nothing is ever
added and then subtracted.
"""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from coevo.block import Block
from coevo.engines.checkpoint import TensorInfo
from coevo.engines.policy import WeightPolicy
from coevo.engines.scope import names_in_scope
from coevo.engines.storage import CODES, STORAGE, copy_rounded, exact_type, to_storage, widened
from coevo.errors import ModelError
from coevo.interfaces import Member, Update, UpdateRule

if TYPE_CHECKING:
    from coevo.noise.basis import Basis

Array = NDArray[Any]
Job = Callable[[], None]
Allocate = Callable[[tuple[int, int], np.dtype[Any]], Array]

PIECE = 1 << 20
"""Elements written at once by one thread."""


@dataclass(frozen=True)
class Served:
    """A block and the memory it is served from: 2-D, columns contiguous, any row stride."""

    block: Block
    array: Array


@dataclass(frozen=True)
class Motion:
    """How weights move: the update rule, and the basis of guided noise."""

    rule: UpdateRule
    basis: "Basis | None" = None

    def perturb(self, base: Array, out: Array, block: Block, member: Member) -> None:
        """See `coevo.noise.perturb`."""
        from coevo import noise

        noise.perturb(base, out, block, member, basis=self.basis)

    def move(self, weights: Array, block: Block, update: Update) -> None:
        """See `coevo.noise.apply_update`."""
        from coevo import noise

        noise.apply_update(weights, block, update, self.rule, basis=self.basis)


class Cell(Protocol):
    """A block that can be served perturbed or not, piece by piece."""

    block: Block

    def serve(self, member: Member | None) -> Iterable[Job]:
        """What has to be done to serve a member, or the base for None, as independent jobs."""

    def move(self, update: Update) -> Iterable[Job]:
        """What has to be done to move the base, as independent jobs; the base is being served."""

    def fingerprint(self) -> int:
        """What the base adds to the fingerprint, computed where it is."""

    def base(self) -> Array:
        """The exact base, shape (rows, cols), on the host; not to be written to."""

    def nbytes(self) -> int:
        """Bytes kept beside the served weights."""


class FixedCell:
    """A block outside the scope: served as the checkpoint has it, and never written again.

    Nothing is kept of it: the base is what is served, widened where that loses nothing, or else read again.
    """

    def __init__(self, served: Served, source: TensorInfo, exact: np.dtype[Any]) -> None:
        self.block = served.block
        self._served = served.array
        self._source = source
        self._exact = exact
        self._is_stored_as_served = STORAGE[CODES[source.dtype]] == served.array.dtype
        for piece, down, across in self.block.pieces(PIECE):
            copy_rounded(source.read_block(piece), served.array[down, across])

    def serve(self, member: Member | None) -> Iterable[Job]:
        """See `Cell`."""
        return ()

    def move(self, update: Update) -> Iterable[Job]:
        """See `Cell`."""
        return ()

    def fingerprint(self) -> int:
        """See `Cell`."""
        return _fingerprint(
            (piece, self._piece(piece, down, across)) for piece, down, across in self.block.pieces(PIECE)
        )

    def base(self) -> Array:
        """See `Cell`."""
        if self._served.dtype == self._exact:
            return self._served
        return self._piece(self.block, slice(None), slice(None))

    def nbytes(self) -> int:
        """See `Cell`."""
        return 0

    def _piece(self, piece: Block, down: slice, across: slice) -> Array:
        if self._served.dtype == self._exact:
            return self._served[down, across]
        if self._is_stored_as_served:
            return widened(self._served[down, across])
        return to_storage(self._source.read_block(piece), self._exact)


class CopyCell:
    """A block whose base is a second array, in memory or in a mapped file."""

    def __init__(self, served: Served, source: TensorInfo, motion: Motion, allocate: Allocate) -> None:
        self.block = served.block
        self._served = served.array
        self._motion = motion
        self._base = allocate((self.block.rows, self.block.cols), exact_type(served.array.dtype, motion.rule))
        for piece, down, across in self.block.pieces(PIECE):
            copy_rounded(source.read_block(piece), self._base[down, across])
            copy_rounded(self._base[down, across], served.array[down, across])

    def serve(self, member: Member | None) -> Iterable[Job]:
        """See `Cell`."""
        for piece, down, across in self.block.pieces(PIECE):
            base, out = self._base[down, across], self._served[down, across]
            if member is None:
                yield lambda base=base, out=out: copy_rounded(base, out)  # type: ignore[misc]
            else:
                yield lambda base=base, out=out, piece=piece: self._motion.perturb(  # type: ignore[misc]
                    base, out, piece, member
                )

    def move(self, update: Update) -> Iterable[Job]:
        """See `Cell`."""
        for piece, down, across in self.block.pieces(PIECE):
            base, out = self._base[down, across], self._served[down, across]

            def job(base: Array = base, out: Array = out, piece: Block = piece) -> None:
                self._motion.move(base, piece, update)
                copy_rounded(base, out)

            yield job

    def fingerprint(self) -> int:
        """See `Cell`."""
        return _fingerprint([(self.block, self.base())])

    def base(self) -> Array:
        """See `Cell`: the served memory where that has the same type, so that a wrong restore would show."""
        return self._served if self._served.dtype == self._base.dtype else self._base

    def nbytes(self) -> int:
        """See `Cell`."""
        return self._base.nbytes


class TilesCell:
    """A piece that is its own base: what a member touches is saved before and put back after."""

    def __init__(self, served: Served, source: TensorInfo, motion: Motion) -> None:
        self.block = served.block
        self._served = served.array
        self._motion = motion
        self._member: Member | None = None
        self._saved: Array = np.empty(0, served.array.dtype)
        copy_rounded(source.read_block(self.block), served.array)

    def serve(self, member: Member | None) -> Iterable[Job]:
        """See `Cell`."""

        def job() -> None:
            self._put_back()
            if member is not None:
                self._save(member)
                self._motion.perturb(self._served, self._served, self.block, member)

        return (job,)

    def move(self, update: Update) -> Iterable[Job]:
        """See `Cell`."""
        return (lambda: self._motion.move(self._served, self.block, update),)

    def fingerprint(self) -> int:
        """See `Cell`."""
        return _fingerprint([(self.block, self._served)])

    def base(self) -> Array:
        """See `Cell`."""
        return self._served

    def nbytes(self) -> int:
        """See `Cell`."""
        return self._saved.nbytes

    def _save(self, member: Member) -> None:
        from coevo.noise import save_touched

        self._saved, self._member = save_touched(self._served, self.block, member), member

    def _put_back(self) -> None:
        from coevo.noise import restore_touched

        if self._member is not None:
            restore_touched(self._served, self.block, self._member, self._saved)
        self._saved, self._member = np.empty(0, self._served.dtype), None


class PiecedCell:
    """A block made of smaller cells, so that several threads share a large tensor."""

    def __init__(self, served: Served, cells: Sequence[Cell]) -> None:
        self.block = served.block
        self._served = served.array
        self._cells = cells

    def serve(self, member: Member | None) -> Iterator[Job]:
        """See `Cell`."""
        return (job for cell in self._cells for job in cell.serve(member))

    def move(self, update: Update) -> Iterator[Job]:
        """See `Cell`."""
        return (job for cell in self._cells for job in cell.move(update))

    def fingerprint(self) -> int:
        """See `Cell`."""
        return sum(cell.fingerprint() for cell in self._cells) % 2**64

    def base(self) -> Array:
        """See `Cell`."""
        return self._served

    def nbytes(self) -> int:
        """See `Cell`."""
        return sum(cell.nbytes() for cell in self._cells)


def whole_cells(
    arrays: Mapping[str, Array],
    tensors: Mapping[str, TensorInfo],
    policy: WeightPolicy,
    basis: "Basis | None" = None,
) -> list[Cell]:
    """One cell for every whole tensor, all of them serving the checkpoint's weights.

    Args:
        arrays: Checkpoint name -> the memory it is served from, flat or in its shape; the content is overwritten.
        tensors: The checkpoint.
        policy: Scope, update rule and restore mode.
        basis: What scope guided moves in.

    Raises:
        ModelError: If a type cannot be kept exactly.
        ConfigError: If the scope is empty.
    """
    blocks = {name: Block.whole(name, tensors[name].shape) for name in arrays}
    served = [Served(block, arrays[name].reshape(block.rows, block.cols)) for name, block in blocks.items()]
    return make_cells(served, tensors, policy, basis)


def make_cells(
    served: Sequence[Served],
    tensors: Mapping[str, TensorInfo],
    policy: WeightPolicy,
    basis: "Basis | None" = None,
) -> list[Cell]:
    """One cell for every served block, all of them serving the checkpoint's weights.

    Args:
        served: Blocks with their memory, whose content is overwritten.
        tensors: The checkpoint; the scope is resolved over the tensors that are served at all.
        policy: Scope, update rule and restore mode.
        basis: What scope guided moves in, as `coevo.engines.guiding.load_guide` found it to fit.

    Raises:
        ModelError: If a block is served in a type that rule or mode cannot keep exactly.
        ConfigError: If the scope is empty.
    """
    shapes = {each.block.tensor: each.block.shape for each in served}
    movable = set(names_in_scope(policy.scope, shapes, basis.parts if basis else ()))
    motion = Motion(policy.update_rule, basis)
    allocate = _allocate_mapped if policy.restore == "mapped" else np.empty
    cells: list[Cell] = []
    for each in served:
        source = tensors[each.block.tensor]
        if each.block.tensor not in movable:
            cells.append(FixedCell(each, source, exact_type(each.array.dtype, motion.rule)))
        elif policy.restore == "tiles":
            cells.append(_tiles_cell(each, source, motion))
        else:
            cells.append(CopyCell(each, source, motion, allocate))
    return cells


def _tiles_cell(served: Served, source: TensorInfo, motion: Motion) -> Cell:
    if exact_type(served.array.dtype, motion.rule) != served.array.dtype:
        raise ModelError(
            "expected weights that are their own exact base for --restore tiles, got 16-bit ones with fp32 masters; "
            "use --update-rule stochastic or nearest, or another --restore"
        )
    pieces = [
        TilesCell(Served(piece, served.array[down, across]), source, motion)
        for piece, down, across in served.block.pieces(PIECE)
    ]
    return PiecedCell(served, pieces)


def _fingerprint(pieces: Iterable[tuple[Block, Array]]) -> int:
    from coevo.noise import fingerprint_part

    return sum(fingerprint_part(values, block) for block, values in pieces) % 2**64


def _allocate_mapped(shape: tuple[int, int], dtype: np.dtype[Any]) -> Array:
    """An array in an unnamed scratch file, which the system may write out and drop from memory.

    Raises:
        ModelError: If the disk is too small; found out here, because later it would end the process.
    """
    size = shape[0] * shape[1] * dtype.itemsize
    if size == 0:
        return np.empty(shape, dtype)
    with tempfile.TemporaryFile(prefix="coevo-base-") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, size)
        except OSError as error:
            raise ModelError(
                f"expected room for {size / 2**20:.0f} MiB of scratch file in {tempfile.gettempdir()}, got: "
                f"{error.strerror}; set TMPDIR to a folder on a larger disk, or choose another --restore"
            ) from error
        array: Array = np.memmap(file, dtype, "r+", shape=shape)
    return array
