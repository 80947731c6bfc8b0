"""Pieces of served weights on the host, each with its unperturbed base: where restore modes and storage types differ.

A base is kept in the exact type of the update rule: fp32 under "master", the served type otherwise. Serving a member
writes round(base + sign · sigma · ε) into the served memory and serving the base writes round(base): nothing is ever
added and then subtracted.
"""

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from coevo.block import Block
from coevo.engines.checkpoint import TensorInfo
from coevo.engines.policy import WeightPolicy
from coevo.engines.scope import names_in_scope
from coevo.errors import ModelError
from coevo.interfaces import Member, Update, UpdateRule

Array = NDArray[Any]
Allocate = Callable[[tuple[int, int], np.dtype[Any]], Array]

PIECE = 1 << 20
"""Elements written at once by one thread."""

BFLOAT16 = np.dtype(np.uint16)
"""bfloat16 on the host is its bits: NumPy has no such type."""

STORAGE: dict[str, np.dtype[Any]] = {
    "float32": np.dtype(np.float32),
    "bfloat16": BFLOAT16,
    "float16": np.dtype(np.float16),
}


@dataclass(frozen=True)
class Served:
    """A block and the memory it is served from: 2-D, columns contiguous, any row stride."""

    block: Block
    array: Array


class Cell(Protocol):
    """A block that can be served perturbed or not, piece by piece."""

    block: Block

    def serve(self, member: Member | None) -> Iterable[Callable[[], None]]:
        """What has to be done to serve a member, or the base for None, as independent jobs."""

    def move(self, update: Update) -> Iterable[Callable[[], None]]:
        """What has to be done to move the base, as independent jobs; the base is being served."""

    def fingerprint(self) -> int:
        """What the base adds to the fingerprint, computed where it is."""

    def base(self) -> Array:
        """The exact base, shape (rows, cols), on the host; not to be written to."""

    def nbytes(self) -> int:
        """Bytes kept beside the served weights."""


class HostCell:
    """What cells on the host have in common."""

    block: Block

    def base(self) -> Array:
        """See `Cell`."""
        raise NotImplementedError

    def fingerprint(self) -> int:
        """See `Cell`."""
        from coevo.noise import fingerprint_part

        return fingerprint_part(self.base(), self.block)


class FixedCell(HostCell):
    """A block outside the scope: served as the checkpoint has it, and never written again."""

    def __init__(self, served: Served, source: TensorInfo, exact: np.dtype[Any]) -> None:
        self.block = served.block
        self._source = source
        self._exact = exact
        _copy(source.read_block(served.block), served.array)

    def serve(self, member: Member | None) -> Iterable[Callable[[], None]]:
        """See `Cell`."""
        return ()

    def move(self, update: Update) -> Iterable[Callable[[], None]]:
        """See `Cell`."""
        return ()

    def base(self) -> Array:
        """See `Cell`: read from the checkpoint again, so that it costs no memory."""
        return to_storage(self._source.read_block(self.block), self._exact)

    def nbytes(self) -> int:
        """See `Cell`."""
        return 0


class CopyCell(HostCell):
    """A block whose base is a second array, in memory or in a mapped file."""

    def __init__(self, served: Served, base: Array, rule: UpdateRule) -> None:
        self.block = served.block
        self._served = served.array
        self._base = base
        self._rule = rule
        _copy(base, served.array)

    def serve(self, member: Member | None) -> Iterable[Callable[[], None]]:
        """See `Cell`."""
        from coevo.noise import perturb

        for piece, down, across in self.block.pieces(PIECE):
            base, out = self._base[down, across], self._served[down, across]
            if member is None:
                yield lambda base=base, out=out: _copy(base, out)  # type: ignore[misc]
            else:
                yield lambda base=base, out=out, piece=piece: perturb(base, out, piece, member)  # type: ignore[misc]

    def move(self, update: Update) -> Iterable[Callable[[], None]]:
        """See `Cell`."""
        from coevo.noise import apply_update

        for piece, down, across in self.block.pieces(PIECE):
            base, out = self._base[down, across], self._served[down, across]

            def job(base: Array = base, out: Array = out, piece: Block = piece) -> None:
                apply_update(base, piece, update, self._rule)
                _copy(base, out)

            yield job

    def base(self) -> Array:
        """See `Cell`: from the served memory where that has the same type, so that a wrong restore would show."""
        return self._served if self._served.dtype == self._base.dtype else self._base

    def nbytes(self) -> int:
        """See `Cell`."""
        return self._base.nbytes


class TilesCell(HostCell):
    """A block that is its own base: what a member touches is saved before and put back after."""

    def __init__(self, served: Served, rule: UpdateRule) -> None:
        self.block = served.block
        self._served = served.array
        self._rule = rule
        self._member: Member | None = None
        self._saved: Array = np.empty(0, served.array.dtype)

    def serve(self, member: Member | None) -> Iterable[Callable[[], None]]:
        """See `Cell`."""
        from coevo.noise import perturb

        def job() -> None:
            self._put_back()
            if member is not None:
                self._save(member)
                perturb(self._served, self._served, self.block, member)

        yield job

    def _save(self, member: Member) -> None:
        from coevo.noise import save_touched

        self._saved, self._member = save_touched(self._served, self.block, member), member

    def _put_back(self) -> None:
        from coevo.noise import restore_touched

        if self._member is not None:
            restore_touched(self._served, self.block, self._member, self._saved)
        self._saved, self._member = np.empty(0, self._served.dtype), None

    def move(self, update: Update) -> Iterable[Callable[[], None]]:
        """See `Cell`."""
        from coevo.noise import apply_update

        for piece, down, across in self.block.pieces(PIECE):
            out = self._served[down, across]
            yield lambda out=out, piece=piece: apply_update(out, piece, update, self._rule)  # type: ignore[misc]

    def base(self) -> Array:
        """See `Cell`."""
        return self._served

    def nbytes(self) -> int:
        """See `Cell`."""
        return self._saved.nbytes


def whole_cells(arrays: Mapping[str, Array], tensors: Mapping[str, TensorInfo], policy: WeightPolicy) -> list[Cell]:
    """One cell for every whole tensor, all of them serving the checkpoint's weights.

    Args:
        arrays: Checkpoint name -> the memory it is served from, flat or in its shape; the content is overwritten.
        tensors: The checkpoint.
        policy: Scope, update rule and restore mode.

    Raises:
        ModelError: If a type cannot be kept exactly.
        ConfigError: If the scope is empty.
    """
    blocks = {name: Block.whole(name, tensors[name].shape) for name in arrays}
    served = [Served(block, arrays[name].reshape(block.rows, block.cols)) for name, block in blocks.items()]
    return make_cells(served, tensors, policy)


def make_cells(served: Sequence[Served], tensors: Mapping[str, TensorInfo], policy: WeightPolicy) -> list[Cell]:
    """One cell for every served block, all of them serving the checkpoint's weights.

    Args:
        served: Blocks with their memory, whose content is overwritten.
        tensors: The checkpoint; the scope is resolved over the tensors that are served at all.
        policy: Scope, update rule and restore mode.

    Raises:
        ModelError: If a block is served in a type that rule or mode cannot keep exactly.
        ConfigError: If the scope is empty.
    """
    shapes = {each.block.tensor: each.block.shape for each in served}
    movable = set(names_in_scope(policy.scope, shapes))
    allocate = _mapped_allocator() if policy.restore == "mapped" else np.empty
    return [
        _make_cell(each, tensors[each.block.tensor], policy, allocate)
        if each.block.tensor in movable
        else FixedCell(each, tensors[each.block.tensor], exact_type(each.array.dtype, policy.update_rule))
        for each in served
    ]


def exact_type(served: np.dtype[Any], rule: UpdateRule) -> np.dtype[Any]:
    """The type a base is kept in.

    Raises:
        ModelError: For fp16 under stochastic rounding, whose bits are defined for bfloat16 alone.
    """
    if rule == "master" or served == np.float32:
        return np.dtype(np.float32)
    if rule == "stochastic" and served == np.float16:
        raise ModelError(
            "expected float32 or bfloat16 weights for stochastic rounding, got float16; "
            "use --update-rule master or nearest"
        )
    return served


def to_storage(values: Array, dtype: np.dtype[Any]) -> Array:
    """fp32 values, shape (rows, cols), in a storage type, rounded to nearest even; themselves if they are of it."""
    if values.dtype == dtype:
        return values
    from coevo.noise import copy_rounded

    out = np.empty(values.shape, dtype)
    copy_rounded(values, out)
    return out


def widened(values: Array) -> NDArray[np.float32]:
    """Stored values as fp32, exactly."""
    if values.dtype == BFLOAT16:
        return (values.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return values.astype(np.float32)


def _make_cell(served: Served, source: TensorInfo, policy: WeightPolicy, allocate: Allocate) -> Cell:
    exact = exact_type(served.array.dtype, policy.update_rule)
    values = source.read_block(served.block)
    if policy.restore == "tiles":
        if exact != served.array.dtype:
            raise ModelError(
                "expected weights that are their own exact base for --restore tiles, got 16-bit ones with fp32 "
                "masters; use --update-rule stochastic or nearest, or another --restore"
            )
        _copy(values, served.array)
        return TilesCell(served, policy.update_rule)
    base = allocate((served.block.rows, served.block.cols), exact)
    np.copyto(base, to_storage(values, exact))
    return CopyCell(served, base, policy.update_rule)


def _copy(base: Array, out: Array) -> None:
    from coevo.noise import copy_rounded

    copy_rounded(base, out)


def _mapped_allocator() -> Allocate:
    """Arrays in unnamed scratch files, which the system may write out and drop from memory."""

    def allocate(shape: tuple[int, int], dtype: np.dtype[Any]) -> Array:
        if 0 in shape:
            return np.empty(shape, dtype)
        with tempfile.TemporaryFile(prefix="coevo-base-") as file:
            array: Array = np.memmap(file, dtype, "w+", shape=shape)
        return array

    return allocate
