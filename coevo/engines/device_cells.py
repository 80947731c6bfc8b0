"""Cells on a GPU: noise is made there, and the base is there too or comes over in pieces from pinned host memory.

Everything is written in place on one stream, in order, so captured graphs see it and no buffer is reused too early.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from coevo.block import Block
from coevo.engines.checkpoint import TensorInfo
from coevo.engines.policy import WeightPolicy
from coevo.engines.storage import STORAGE, exact_storage
from coevo.engines.torch_cells import storage_name
from coevo.interfaces import Member, Update
from coevo.noise import triton_kernels

if TYPE_CHECKING:
    from coevo.noise.basis import Basis

Array = NDArray[Any]
Piece = tuple[Block, Tensor, Tensor]

PIECE = 1 << 23
"""Elements that come over from the host at once: 32 MiB of fp32."""


class DeviceCell:
    """A block served on a GPU. See `coevo.engines.cells.Cell`.

    Args:
        block: Where it lies.
        served: Its memory, shape (rows, cols); the content is overwritten.
        source: The checkpoint's tensor.
        policy: Update rule, and where the base is kept: "host" in pinned host memory, otherwise on the device.
        moves: Whether the scope holds it; otherwise no base is kept.
        basis: What guided noise lies in the span of.
    """

    def __init__(
        self,
        block: Block,
        served: Tensor,
        source: TensorInfo,
        policy: WeightPolicy,
        *,
        moves: bool,
        basis: "Basis | None" = None,
    ) -> None:
        self.block = block
        self._basis = basis
        self._served = served.detach()
        self._rule = policy.update_rule
        self._source = source
        self._exact: torch.dtype = getattr(torch, exact_storage(storage_name(served.dtype), policy.update_rule))
        self._base = self._make_base(policy.restore) if moves else None
        self._served.copy_(self._from_checkpoint(self.block) if self._base is None else self._base)

    def serve(self, member: Member | None) -> Iterable[Callable[[], None]]:
        """See `Cell`."""
        if self._base is None:
            return ()
        if member is None:
            return (self._copy_base,)

        def write(block: Block, base: Tensor, out: Tensor) -> None:
            triton_kernels.perturb(base, out, block, member, basis=self._basis)

        return (lambda: self._for_each_piece(write),)

    def move(self, update: Update) -> Iterable[Callable[[], None]]:
        """See `Cell`."""
        return () if self._base is None else (lambda: self._move(update),)

    def fingerprint(self) -> int:
        """See `Cell`: of the served memory where that is of the base's type."""
        if self._served.dtype == self._exact:
            return triton_kernels.fingerprint_part(self._served, self.block)
        base = self._from_checkpoint(self.block) if self._base is None else self._base
        pieces = ((piece, self._on_device(base[down, across])) for piece, down, across in self.block.pieces(PIECE))
        return sum(triton_kernels.fingerprint_part(values, piece) for piece, values in pieces) % 2**64

    def base(self) -> Array:
        """See `Cell`."""
        found = (self._from_checkpoint(self.block) if self._base is None else self._base).cpu()
        return (found.view(torch.uint16) if found.dtype == torch.bfloat16 else found).numpy()

    def nbytes(self) -> int:
        """See `Cell`; bytes on the device alone."""
        return 0 if self._base is None or self._base.device != self._served.device else self._base.nbytes

    def _make_base(self, mode: str) -> Tensor:
        base = self._from_checkpoint(self.block)
        if mode != "host":
            return base.to(self._served.device)
        return base.pin_memory() if self._served.is_cuda else base.clone()

    def _from_checkpoint(self, block: Block) -> Tensor:
        return torch.from_numpy(self._source.read_block(block)).to(self._exact)

    def _copy_base(self) -> None:
        assert self._base is not None
        for _, down, across in self.block.pieces(PIECE):
            self._served[down, across].copy_(self._base[down, across], non_blocking=True)

    def _move(self, update: Update) -> None:
        def move(block: Block, base: Tensor, out: Tensor) -> None:
            triton_kernels.apply_update(base, block, update, self._rule, basis=self._basis)
            out.copy_(base)

        self._for_each_piece(move, writes_back=True)

    def _for_each_piece(self, act: Callable[[Block, Tensor, Tensor], None], *, writes_back: bool = False) -> None:
        assert self._base is not None
        for piece, down, across in self.block.pieces(PIECE):
            kept = self._base[down, across]
            base = self._on_device(kept)
            act(piece, base, self._served[down, across])
            if writes_back and base is not kept:
                kept.copy_(base)

    def _on_device(self, values: Tensor) -> Tensor:
        return values if values.device == self._served.device else values.to(self._served.device, non_blocking=True)


def resolved(policy: WeightPolicy, moving: Iterable[tuple[Block, Tensor]], free_bytes: int) -> WeightPolicy:
    """The policy with "auto" decided: bases stay on the device if that leaves a tenth of its free memory.

    Args:
        policy: As the user chose it.
        moving: The blocks of the scope and their memory.
        free_bytes: Free memory of the device.
    """
    if policy.restore != "auto":
        return policy
    kept = ((block, exact_storage(storage_name(served.dtype), policy.update_rule)) for block, served in moving)
    needed = sum(block.size * STORAGE[storage].itemsize for block, storage in kept)
    return policy.model_copy(update={"restore": "copy" if needed < 0.9 * free_bytes else "host"})
