"""Checkpoint tensors: read from safetensors as fp32, whatever type the file stores, and written back, without torch."""

import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.block import Block, matrix_shape
from coevo.engines.storage import CODES, STORAGE, code_of, storage_of, widened
from coevo.errors import ModelError

FloatArray = NDArray[np.float32]

SINGLE_FILE = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"

_BOOKKEEPING = {"BOOL", "I64"}
_MAX_HEADER_BYTES = 100_000_000


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """Where one tensor lies.

    Attributes:
        name: Name in the checkpoint.
        dtype: The safetensors code: "F32", "BF16", …
        shape: Its shape.
        file: The file that holds it.
        offset: Byte of that file at which its values begin.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    file: Path
    offset: int

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def read(self) -> FloatArray:
        """The values in row-major order: shape (size,), fp32, in memory of their own.

        Raises:
            ModelError: If the file is shorter than its header says.
        """
        return self.read_block(Block.whole(self.name, self.shape)).reshape(-1)

    def read_block(self, block: Block) -> FloatArray:
        """The values of a block of this tensor: shape (rows, cols), fp32, in memory of their own.

        Raises:
            ModelError: If the file is shorter than its header says.
        """
        stored = STORAGE[CODES[self.dtype]]
        if self.file.stat().st_size < self.offset + self.size * stored.itemsize:
            raise ModelError(f"{self.file} ends inside tensor {self.name!r}; fetch the model again")
        if block.size == 0:
            return np.empty((block.rows, block.cols), np.float32)
        matrix: NDArray[Any] = np.memmap(self.file, stored, "r", self.offset, matrix_shape(self.shape))
        values = matrix[block.row : block.row + block.rows, block.col : block.col + block.cols]
        return widened(values)


def read_headers(folder: Path) -> dict[str, TensorInfo]:
    """Every floating tensor of the checkpoint in `folder`, by name; integer bookkeeping (masks, counters) is left out.

    Raises:
        ModelError: If there are no safetensors, a file is malformed, or a tensor is stored quantised.
    """
    tensors: dict[str, TensorInfo] = {}
    for file in _weight_files(folder):
        for info in _read_header(file):
            if info.dtype in _BOOKKEEPING:
                continue
            if info.dtype not in CODES:
                raise ModelError(
                    f"expected weights in fp32, fp16 or bf16, got {info.dtype} for tensor {info.name!r} in {file}; "
                    "quantised weights cannot be perturbed, use the unquantised model"
                )
            tensors[info.name] = info
    return tensors


def write_checkpoint(file: Path, arrays: Mapping[str, NDArray[Any]], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Write tensors as one safetensors file, a tensor at a time; the same tensors give the same bytes.

    Args:
        file: Where to.
        arrays: Name -> values in row-major order, float32, float16 or uint16 (the bits of bfloat16).
        shapes: Name -> shape.
    """
    entries, offset = {}, 0
    for name in sorted(arrays):
        end = offset + arrays[name].nbytes
        entries[name] = {
            "dtype": code_of(storage_of(arrays[name].dtype)),
            "shape": list(shapes[name]),
            "data_offsets": [offset, end],
        }
        offset = end
    header = json.dumps({"__metadata__": {"format": "pt"}, **entries}, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    with file.open("wb") as stream:
        stream.write(struct.pack("<Q", len(header)) + header)
        for name in sorted(arrays):
            np.ascontiguousarray(arrays[name]).tofile(stream)


def _weight_files(folder: Path) -> list[Path]:
    if (folder / INDEX_FILE).is_file():
        return _indexed_files(folder / INDEX_FILE)
    if (folder / SINGLE_FILE).is_file():
        return [folder / SINGLE_FILE]
    pickled = sorted(file.name for pattern in ("*.bin", "*.pt", "*.pth") for file in folder.glob(pattern))
    if pickled:
        raise ModelError(
            f"expected safetensors weights in {folder}, got pickled ones ({pickled[0]}), which can run code when "
            "loaded; convert them with transformers' save_pretrained, or fetch a safetensors revision"
        )
    raise ModelError(f"expected {SINGLE_FILE} or {INDEX_FILE} in the model folder {folder}, found neither")


def _indexed_files(index: Path) -> list[Path]:
    try:
        names = sorted(set(json.loads(index.read_text())["weight_map"].values()))
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise ModelError(f"{index} is not a safetensors index ({error}); fetch the model again") from error
    for name in names:
        if name != Path(name).name or not (index.parent / name).is_file():
            raise ModelError(f"expected the weight file {name!r} that {index} lists, found none; fetch the model again")
    return [index.parent / name for name in names]


def _read_header(file: Path) -> list[TensorInfo]:
    try:
        with file.open("rb") as stream:
            (length,) = struct.unpack("<Q", stream.read(8))
            if length > _MAX_HEADER_BYTES:
                raise ValueError(f"header of {length} bytes")
            entries: dict[str, Any] = json.loads(stream.read(length))
        entries.pop("__metadata__", None)
        return [
            TensorInfo(name, entry["dtype"], tuple(entry["shape"]), file, 8 + length + entry["data_offsets"][0])
            for name, entry in entries.items()
        ]
    except (OSError, ValueError, KeyError, TypeError, RecursionError, struct.error) as error:
        raise ModelError(f"{file} is not a safetensors file ({error}); fetch the model again") from error
