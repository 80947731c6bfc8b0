"""What a candidate's process writes: solutions as plain arrays, then "done", or one failure.

    stream   := solution* ( done | failure )
    solution := "S" u8 dtype index, u8 dimensions, u64 per dimension, the array's bytes in C order
    failure  := "F" u8 kind, i32 line in the candidate (−1: none), u16 length + type name, u16 length + message
    done     := "D"

The writer shares its process with untrusted code, so `decode` takes every byte as hostile: fixed structures, a dtype
allow-list, sizes checked before use, nothing evaluated, no byte left over.
"""

import math
import struct
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

FailureKind = Literal["invalid", "infeasible", "crash", "memory"]
_KINDS: tuple[FailureKind, ...] = get_args(FailureKind)
_DTYPES = tuple(np.dtype(name) for name in ("?", "i1", "i2", "<i4", "<i8", "u1", "<u2", "<u4", "<u8", "<f4", "<f8"))
_MAX_DIMENSIONS = 4
_SOLUTION = struct.Struct("<BB")
_FAILURE = struct.Struct("<Bi")
_TEXT = struct.Struct("<H")
_MAX_TEXT = 1000
MAX_SOLUTION_BYTES = 1 << 30
"""Of one solution: a size beyond it is garbled. What a candidate may write in all is a limit of its problem's."""
DONE = b"D"


class GarbledError(Exception):
    """The bytes are not a result."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure as the candidate's process reports it: a claim about itself, never trusted for more.

    Attributes:
        kind: The status it asks for.
        error: Name of the exception's type; may be empty.
        message: What it says.
        line: Line in the candidate, or None if no frame of the candidate was involved.
    """

    kind: FailureKind
    error: str
    message: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A decoded stream: read-only solutions in instance order and how the stream ended."""

    solutions: tuple[NDArray[Any], ...]
    failure: Failure | None
    is_complete: bool


def encode_solution(solution: Any) -> bytes:
    """One solution as bytes.

    Raises:
        ValueError: If it is not an array (or scalar, or sequence) of bool, integers or floats.
    """
    array = np.asarray(solution)
    plain = array.dtype.newbyteorder("<")
    if plain not in _DTYPES:
        raise ValueError(f"a solution is an array of bool, integers or floats, got dtype {array.dtype}")
    if array.ndim > _MAX_DIMENSIONS:
        raise ValueError(f"a solution has at most {_MAX_DIMENSIONS} dimensions, got {array.ndim}")
    head = b"S" + _SOLUTION.pack(_DTYPES.index(plain), array.ndim) + struct.pack(f"<{array.ndim}Q", *array.shape)
    return head + array.astype(plain, copy=False).tobytes()


def encode_failure(failure: Failure) -> bytes:
    """A failure as bytes; long texts are cut."""
    texts = [text.encode(errors="replace")[:_MAX_TEXT] for text in (failure.error, failure.message)]
    line = -1 if failure.line is None else failure.line
    head = b"F" + _FAILURE.pack(_KINDS.index(failure.kind), line)
    return head + b"".join(_TEXT.pack(len(text)) + text for text in texts)


def decode(data: bytes | bytearray, *, max_solutions: int) -> Claim:
    """Decode a hostile stream.

    A stream that stops at the border of two records is not complete; anything else that is not a result is an error.

    Raises:
        GarbledError: Saying what is wrong with it.
    """
    reader = _Reader(memoryview(data).toreadonly())
    solutions: list[NDArray[Any]] = []
    while reader.left:
        tag = bytes(reader.take(1))
        if tag == b"S":
            if len(solutions) == max_solutions:
                raise GarbledError(f"more than {max_solutions} solutions")
            solutions.append(_decode_solution(reader))
            continue
        failure = _decode_failure(reader) if tag == b"F" else None
        if failure is None and tag != DONE:
            raise GarbledError("unknown record")
        if reader.left:
            raise GarbledError(f"{reader.left} bytes after the end")
        return Claim(tuple(solutions), failure, is_complete=failure is None)
    return Claim(tuple(solutions), None, is_complete=False)


class _Reader:
    """Takes bytes off the front; never past the end."""

    def __init__(self, data: memoryview):
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, size: int) -> memoryview:
        if size > self.left:
            raise GarbledError(f"{size} bytes announced, {self.left} there")
        self._at += size
        return self._data[self._at - size : self._at]

    def unpack(self, layout: struct.Struct) -> tuple[Any, ...]:
        return layout.unpack(self.take(layout.size))

    def text(self) -> str:
        (size,) = self.unpack(_TEXT)
        if size > _MAX_TEXT:
            raise GarbledError(f"text of {size} bytes")
        return bytes(self.take(size)).decode(errors="replace")


def _decode_solution(reader: _Reader) -> NDArray[Any]:
    code, dimensions = reader.unpack(_SOLUTION)
    if code >= len(_DTYPES) or dimensions > _MAX_DIMENSIONS:
        raise GarbledError(f"dtype {code} with {dimensions} dimensions")
    shape = reader.unpack(struct.Struct(f"<{dimensions}Q"))
    dtype = _DTYPES[code]
    # Python integers do not overflow, so a product of hostile sizes is just a large number.
    if max(shape, default=0) > MAX_SOLUTION_BYTES or math.prod(shape) * dtype.itemsize > MAX_SOLUTION_BYTES:
        raise GarbledError("solution too large")
    array = np.frombuffer(reader.take(math.prod(shape) * dtype.itemsize), dtype).reshape(shape)
    # A byte other than 0 or 1 in a bool array is undefined behaviour in numpy; make it one of the two.
    return np.not_equal(array.view(np.uint8), 0) if dtype.kind == "b" else array


def _decode_failure(reader: _Reader) -> Failure:
    code, line = reader.unpack(_FAILURE)
    if code >= len(_KINDS):
        raise GarbledError(f"failure of kind {code}")
    error, message = reader.text(), reader.text()
    return Failure(_KINDS[code], error, message, None if line < 0 else line)
