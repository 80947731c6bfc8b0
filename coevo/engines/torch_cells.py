"""Served weights that torch holds: views of host parameters, and cells for parameters on another device."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from coevo.block import Block
from coevo.engines.cells import PIECE, STORAGE, Cell, HostCell, Served, exact_type, make_cells, to_storage
from coevo.engines.checkpoint import TensorInfo
from coevo.engines.policy import WeightPolicy
from coevo.engines.scope import names_in_scope
from coevo.interfaces import Member, Update, UpdateRule

Array = NDArray[Any]


def torch_cells(
    parameters: Mapping[str, Tensor], tensors: Mapping[str, TensorInfo], policy: WeightPolicy
) -> list[Cell]:
    """One cell for each whole parameter; see `block_cells`.

    Args:
        parameters: Canonical checkpoint name -> contiguous parameter.
        tensors: The checkpoint.
        policy: Scope, update rule and restore mode.
    """
    blocks = [Block.whole(name, tensors[name].shape) for name in parameters]
    served = [parameters[block.tensor].detach().view(block.rows, block.cols) for block in blocks]
    return block_cells(list(zip(blocks, served, strict=True)), tensors, policy)


def block_cells(
    blocks: Sequence[tuple[Block, Tensor]], tensors: Mapping[str, TensorInfo], policy: WeightPolicy
) -> list[Cell]:
    """One cell for each block that torch serves, all of them serving the checkpoint's weights.

    Args:
        blocks: Blocks and their memory, shape (rows, cols), columns contiguous, all on one device.
        tensors: The checkpoint.
        policy: Scope, update rule and restore mode.

    Raises:
        ModelError: If a type cannot be kept exactly, or the device has no such restore mode.
        ConfigError: If the scope is empty.
    """
    device = blocks[0][1].device
    if device.type == "cpu":
        return make_cells([Served(block, host_view(tensor)) for block, tensor in blocks], tensors, policy)
    movable = set(names_in_scope(policy.scope, {block.tensor: block.shape for block, _ in blocks}))
    if device.type != "cuda" or find_spec("triton") is None:
        return [
            StagedCell(block, tensor, tensors[block.tensor], policy.update_rule, moves=block.tensor in movable)
            for block, tensor in blocks
        ]
    from coevo.engines.device_cells import DeviceCell, chosen_mode, exact_bytes

    needed = exact_bytes((each for each in blocks if each[0].tensor in movable), policy)
    kept = chosen_mode(policy, needed, torch.cuda.mem_get_info(device)[0])
    return [
        DeviceCell(block, tensor, tensors[block.tensor], kept, moves=block.tensor in movable)
        for block, tensor in blocks
    ]


def host_view(tensor: Tensor) -> Array:
    """A matrix on the host as an array over the same memory, bfloat16 as its bits."""
    matrix = tensor.detach()
    return (matrix.view(torch.uint16) if matrix.dtype == torch.bfloat16 else matrix).numpy()


class StagedCell(HostCell):
    """A block served on a device for which there are no kernels: made on the host and copied there in pieces.

    Written through `copy_`, so addresses stay and captured graphs see it.
    """

    def __init__(self, block: Block, served: Tensor, source: TensorInfo, rule: UpdateRule, *, moves: bool) -> None:
        self.block = block
        self._served = served.detach().view(block.rows, block.cols)
        self._rule = rule
        self._moves = moves
        self._type = STORAGE[str(served.dtype).removeprefix("torch.")]
        self._base = to_storage(source.read_block(block), exact_type(self._type, rule))
        for job in self._each_piece(lambda base, piece, out: out.__setitem__(..., to_storage(base, self._type))):
            job()

    def serve(self, member: Member | None) -> Iterable[Callable[[], None]]:
        """See `Cell`."""
        from coevo.noise import perturb

        if not self._moves:
            return ()
        if member is None:
            return self._each_piece(lambda base, piece, out: out.__setitem__(..., to_storage(base, self._type)))
        return self._each_piece(lambda base, piece, out: perturb(base, out, piece, member))

    def move(self, update: Update) -> Iterable[Callable[[], None]]:
        """See `Cell`."""
        from coevo.noise import apply_update

        def fill(base: Array, piece: Block, out: Array) -> None:
            apply_update(base, piece, update, self._rule)
            out[...] = to_storage(base, self._type)

        return self._each_piece(fill) if self._moves else ()

    def base(self) -> Array:
        """See `Cell`."""
        return self._base

    def nbytes(self) -> int:
        """See `Cell`."""
        return self._base.nbytes

    def _each_piece(self, fill: Callable[[Array, Block, Array], None]) -> Iterable[Callable[[], None]]:
        for piece, down, across in self.block.pieces(PIECE):

            def job(piece: Block = piece, down: slice = down, across: slice = across) -> None:
                out = np.empty((piece.rows, piece.cols), self._type)
                fill(self._base[down, across], piece, out)
                staged = torch.from_numpy(out)
                self._served[down, across].copy_(staged.view(self._served.dtype))

            yield job


def contiguous(parameters: Sequence[Tensor]) -> None:
    """Give parameters that lie transposed or padded in memory a contiguous one; before anything holds their address."""
    for tensor in parameters:
        if not tensor.is_contiguous():
            tensor.data = tensor.data.contiguous()
