"""Served weights that torch holds: which cells serve them on which device."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from coevo.block import Block
from coevo.engines.cells import PIECE, Cell, Job, Motion, Served, make_cells
from coevo.engines.checkpoint import TensorInfo
from coevo.engines.policy import WeightPolicy
from coevo.engines.scope import names_in_scope
from coevo.engines.storage import STORAGE, exact_type, to_storage
from coevo.errors import ModelError
from coevo.interfaces import Member, Update

if TYPE_CHECKING:
    from coevo.noise.basis import Basis

Array = NDArray[Any]


def torch_cells(
    parameters: Mapping[str, Tensor],
    tensors: Mapping[str, TensorInfo],
    policy: WeightPolicy,
    basis: "Basis | None" = None,
) -> list[Cell]:
    """One cell for each whole parameter; see `block_cells`.

    Args:
        parameters: Canonical checkpoint name -> contiguous parameter.
        tensors: The checkpoint.
        policy: Scope, update rule and restore mode.
        basis: What scope guided moves in.
    """
    blocks = [Block.whole(name, tensors[name].shape) for name in parameters]
    served = [parameters[block.tensor].detach().view(block.rows, block.cols) for block in blocks]
    return block_cells(list(zip(blocks, served, strict=True)), tensors, policy, basis)


def block_cells(
    blocks: Sequence[tuple[Block, Tensor]],
    tensors: Mapping[str, TensorInfo],
    policy: WeightPolicy,
    basis: "Basis | None" = None,
) -> list[Cell]:
    """One cell for each block that torch serves, all of them serving the checkpoint's weights.

    Args:
        blocks: Blocks and their memory, shape (rows, cols), columns contiguous, all on one device.
        tensors: The checkpoint.
        policy: Scope, update rule and restore mode.
        basis: What scope guided moves in.

    Raises:
        ModelError: If a type cannot be kept exactly, or the device has no such restore mode.
        ConfigError: If the scope is empty.
    """
    device = blocks[0][1].device
    if device.type == "cpu":
        return make_cells([Served(block, host_view(tensor)) for block, tensor in blocks], tensors, policy, basis)
    if policy.restore in ("tiles", "mapped"):
        raise ModelError(f"expected --restore copy or host for weights on {device}, got {policy.restore}")
    shapes = {block.tensor: block.shape for block, _ in blocks}
    movable = set(names_in_scope(policy.scope, shapes, basis.parts if basis else ()))
    moving = [(block, tensor) for block, tensor in blocks if block.tensor in movable]
    if device.type != "cuda" or find_spec("triton") is None:
        make: Callable[..., Cell] = StagedCell
    else:
        from coevo.engines.device_cells import DeviceCell, resolved

        make, policy = DeviceCell, resolved(policy, moving, torch.cuda.mem_get_info(device)[0])
    return [
        make(block, tensor, tensors[block.tensor], policy, moves=block.tensor in movable, basis=basis)
        for block, tensor in blocks
    ]


def host_view(tensor: Tensor) -> Array:
    """A matrix on the host as an array over the same memory, bfloat16 as its bits."""
    matrix = tensor.detach()
    return (matrix.view(torch.uint16) if matrix.dtype == torch.bfloat16 else matrix).numpy()


def storage_name(dtype: torch.dtype) -> str:
    """The storage type of a torch type."""
    return str(dtype).removeprefix("torch.")


class StagedCell:
    """A block served on a device for which there are no kernels: made on the host and copied there in pieces.

    Written through `copy_`, so addresses stay and captured graphs see it.

    Args:
        block: Where it lies.
        served: Its memory, shape (rows, cols); the content is overwritten.
        source: The checkpoint's tensor.
        policy: Gives the update rule.
        moves: Whether the scope holds it; otherwise no base is kept, and it is read from the checkpoint when needed.
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
        self._served = served.detach()
        self._motion = Motion(policy.update_rule, basis)
        self._source = source
        self._type = STORAGE[storage_name(served.dtype)]
        self._exact = exact_type(self._type, policy.update_rule)
        self._base = self._from_checkpoint() if moves else None
        for job in self._each_piece(self.base(), self._round):
            job()

    def serve(self, member: Member | None) -> Iterable[Job]:
        """See `Cell`."""
        if self._base is None:
            return ()
        if member is None:
            return self._each_piece(self._base, self._round)
        return self._each_piece(self._base, lambda base, piece, out: self._motion.perturb(base, out, piece, member))

    def move(self, update: Update) -> Iterable[Job]:
        """See `Cell`."""

        def fill(base: Array, piece: Block, out: Array) -> None:
            self._motion.move(base, piece, update)
            self._round(base, piece, out)

        return () if self._base is None else self._each_piece(self._base, fill)

    def fingerprint(self) -> int:
        """See `Cell`."""
        from coevo.noise import fingerprint_part

        return fingerprint_part(self.base(), self.block)

    def base(self) -> Array:
        """See `Cell`."""
        return self._from_checkpoint() if self._base is None else self._base

    def nbytes(self) -> int:
        """See `Cell`."""
        return 0 if self._base is None else self._base.nbytes

    def _from_checkpoint(self) -> Array:
        return to_storage(self._source.read_block(self.block), self._exact)

    def _round(self, base: Array, piece: Block, out: Array) -> None:
        out[...] = to_storage(base, self._type)

    def _each_piece(self, base: Array, fill: Callable[[Array, Block, Array], None]) -> Iterable[Job]:
        for piece, down, across in self.block.pieces(PIECE):

            def job(piece: Block = piece, down: slice = down, across: slice = across) -> None:
                out = np.empty((piece.rows, piece.cols), self._type)
                fill(base[down, across], piece, out)
                self._served[down, across].copy_(torch.from_numpy(out).view(self._served.dtype))

            yield job


def contiguous(parameters: Sequence[Tensor]) -> None:
    """Give parameters that lie transposed or padded in memory a contiguous one; before anything holds their address."""
    for tensor in parameters:
        if not tensor.is_contiguous():
            tensor.data = tensor.data.contiguous()
