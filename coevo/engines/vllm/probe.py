"""Read the parameter map off a loaded vLLM model, and prove it on the real weights.

Passes through the model's own loader, each feeding every checkpoint tensor: one of NaN, which marks what a checkpoint
fills at all; one per digit of the coordinates, of which only the first and last column of every row are kept; one of
hashed coordinates, which every element of every block is held against; and last the real weights, held against the
checkpoint element by element and against what the server held before. So a layout that changes after loading, a value
that is changed on the way in, and an element that strays are all refused, whatever the architecture.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from coevo.block import Block, matrix_shape
from coevo.engines.checkpoint import TensorInfo
from coevo.engines.vllm.map import UNCOVERED, Catalogue, Coordinates, Placed, merge_rows, merge_vector
from coevo.errors import ModelError

Load = Callable[[Iterable[tuple[str, Tensor]]], Any]

_CHUNK = 1 << 22
_SERVED = (torch.float32, torch.bfloat16, torch.float16)
_STORED = {"F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16}
_HASH = 0x9E3779B97F4A7C15 - (1 << 64)
_BITS = {4: torch.int32, 2: torch.int16}


def served_parameters(model: torch.nn.Module) -> dict[str, Tensor]:
    """Every floating parameter as a matrix over its own memory, parameters that share memory once.

    Raises:
        ModelError: Naming a parameter without elements, of a type that cannot be perturbed, or without a matrix view.
    """
    found: dict[int, tuple[str, Tensor]] = {}
    for name, parameter in model.named_parameters():
        tensor = parameter.detach()
        if tensor.numel() == 0:
            raise ModelError(
                f"expected live weights, but vLLM has packed or dropped the parameter {name!r}; "
                "this kind of layer cannot be perturbed here, use the engine 'torch'"
            )
        if tensor.dtype not in _SERVED:
            raise ModelError(
                f"expected weights in fp32, fp16 or bf16, got {tensor.dtype} for the parameter {name!r}; "
                "quantised weights cannot be perturbed, use the unquantised model"
            )
        found.setdefault(tensor.data_ptr(), (name, _as_matrix(name, tensor)))
    if not found:
        raise ModelError("expected a model with floating parameters, vLLM serves none; name another model")
    return dict(found.values())


def read_map(load: Load, parameters: Mapping[str, Tensor], tensors: Mapping[str, TensorInfo]) -> list[Placed]:
    """The proven map of one rank; the same weights are served afterwards as before.

    Args:
        load: The model's `load_weights`.
        parameters: From `served_parameters`.
        tensors: The checkpoint tensors that have weights of their own.

    Raises:
        ModelError: Naming what is not laid out in rectangles, is filled by no tensor, or is changed on the way.
    """
    before = checksums(parameters)
    placed = discover(load, parameters, tensors)
    restore(load, tensors)
    after = checksums(parameters)
    changed = [name for name in before if before[name] != after[name]]
    if changed:
        raise ModelError(
            f"expected the parameter {changed[0]!r} to be served as it was loaded, but vLLM has rearranged it since; "
            "this kind of layer cannot be perturbed here, use the engine 'torch'"
        )
    prove(placed, parameters, tensors)
    return placed


def discover(load: Load, parameters: Mapping[str, Tensor], tensors: Mapping[str, TensorInfo]) -> list[Placed]:
    """The map alone. Overwrites the weights: `restore` has to follow. See `read_map`."""
    catalogue = Catalogue({name: info.shape for name, info in tensors.items()})
    load(_feed(catalogue, tensors, _mark))
    marked = {name: _ends(matrix) for name, matrix in parameters.items()}
    _require_filled(marked)
    found = {name: torch.zeros(ends.shape, dtype=torch.int64) for name, ends in marked.items()}
    for place in range(catalogue.num_digits):
        load(_feed(catalogue, tensors, partial(_digit, place=place)))
        for name, matrix in parameters.items():
            found[name] += (_ends(matrix).double().nan_to_num(0.0).long() - 1) << (8 * place)
    placed = [
        block
        for name, matrix in parameters.items()
        for block in _merge(name, matrix, found[name].where(marked[name].isnan(), UNCOVERED), catalogue)
    ]
    load(_feed(catalogue, tensors, _hashed))
    for block in placed:
        _compare(block, parameters, lambda piece: _hashed(_numbers(catalogue, piece)))
    return placed


def restore(load: Load, tensors: Mapping[str, TensorInfo]) -> None:
    """Load the real weights again."""
    load(
        (name, torch.from_numpy(info.read()).view(info.shape).to(_STORED[info.dtype])) for name, info in tensors.items()
    )


def prove(placed: Sequence[Placed], parameters: Mapping[str, Tensor], tensors: Mapping[str, TensorInfo]) -> None:
    """Compare every block with the checkpoint, cast to the type it is served in.

    Raises:
        ModelError: Naming the first tensor that differs.
    """
    for each in placed:
        _compare(each, parameters, lambda piece: torch.from_numpy(tensors[piece.tensor].read_block(piece)))


def checksums(parameters: Mapping[str, Tensor]) -> dict[str, int]:
    """A 64-bit sum over the bits of each parameter that moving any element changes."""
    return {name: _checksum(matrix) for name, matrix in parameters.items()}


def _as_matrix(name: str, tensor: Tensor) -> Tensor:
    try:
        matrix = tensor.view(*matrix_shape(tuple(tensor.shape)))
    except RuntimeError:
        matrix = None
    if matrix is None or (matrix.shape[1] > 1 and matrix.stride(1) != 1):
        raise ModelError(
            f"expected rows of consecutive elements, got strides {tensor.stride()} for the parameter {name!r}; "
            "this layout cannot be perturbed in place, use the engine 'torch'"
        )
    return matrix


def _feed(
    catalogue: Catalogue, tensors: Mapping[str, TensorInfo], values: Callable[[Tensor], Tensor]
) -> Iterator[tuple[str, Tensor]]:
    """Every checkpoint tensor in its stored type and shape, each element a function of its coordinate."""
    for name, shape in catalogue.shapes.items():
        out = torch.empty(tensors[name].size, dtype=_STORED[tensors[name].dtype])
        for start in range(0, len(out), _CHUNK):
            stop = min(start + _CHUNK, len(out))
            out[start:stop] = values(torch.arange(start, stop) + catalogue.starts[name]).to(out.dtype)
        yield name, out.view(shape)


def _mark(numbers: Tensor) -> Tensor:
    """NaN, which no weight is."""
    return torch.full(numbers.shape, torch.nan)


def _digit(numbers: Tensor, place: int) -> Tensor:
    """1 … 256: a digit to base 256, plus one."""
    return ((numbers >> (8 * place)) & 255) + 1


def _hashed(numbers: Tensor) -> Tensor:
    """1 … 256, by the top byte of a multiplicative hash: a misplaced element shows in 255 of 256 cases."""
    return (((numbers * _HASH) >> 56) & 255) + 1


def _ends(matrix: Tensor) -> Tensor:
    """First and last column of each row, shape (rows, 2); all of a matrix of one row, shape (1, cols). On the host."""
    chosen = matrix if matrix.shape[0] == 1 else matrix[:, [0, -1]]
    return chosen.cpu().clone()


def _require_filled(marked: Mapping[str, Tensor]) -> None:
    for name, ends in marked.items():
        if not ends.isnan().any():
            raise ModelError(
                f"expected checkpoint values in every served parameter, {name!r} gets none: it is a copy of other "
                "weights or is made up at loading, which exact noise cannot follow; use the engine 'torch'"
            )


def _merge(name: str, matrix: Tensor, ends: Tensor, catalogue: Catalogue) -> list[Placed]:
    coordinates: Coordinates = ends.numpy().astype(np.int64)
    if matrix.shape[0] == 1:
        return merge_vector(coordinates[0], parameter=name, catalogue=catalogue)
    return merge_rows(coordinates[:, 0], coordinates[:, 1], cols=matrix.shape[1], parameter=name, catalogue=catalogue)


def _numbers(catalogue: Catalogue, block: Block) -> Tensor:
    """Coordinates of a block, shape (rows, cols)."""
    row = torch.arange(block.rows)[:, None] + block.row
    return catalogue.starts[block.tensor] + row * block.width + block.col + torch.arange(block.cols)[None, :]


def _compare(placed: Placed, parameters: Mapping[str, Tensor], expected: Callable[[Block], Tensor]) -> None:
    """Hold a served block against what it should be, a piece at a time."""
    block, matrix = placed.block, parameters[placed.parameter]
    served = matrix[placed.row : placed.row + block.rows, placed.col : placed.col + block.cols]
    for piece, down, across in block.pieces(_CHUNK):
        if not torch.equal(served[down, across].cpu(), expected(piece).to(served.dtype)):
            raise ModelError(
                f"expected the served parameter {placed.parameter!r} to hold the values of checkpoint tensor "
                f"{block.tensor!r} as they are stored, rows {piece.row} to {piece.row + piece.rows - 1} differ; "
                "vLLM changes them on loading, use the engine 'torch'"
            )


def _checksum(matrix: Tensor) -> int:
    total = 0
    step = max(1, _CHUNK // matrix.shape[1])
    for start in range(0, matrix.shape[0], step):
        bits = matrix[start : start + step].contiguous().view(_BITS[matrix.element_size()]).long()
        weights = 2 * torch.arange(bits.numel(), device=bits.device) + 2 * start * matrix.shape[1] + 1
        total += int((bits.flatten() * weights).sum().item())
    return total % (1 << 64)
