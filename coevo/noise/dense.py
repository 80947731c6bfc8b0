"""Dense noise over a range of one tensor: the normals themselves, a perturbed copy, an update in place.

A range is a 1-D contiguous fp32 array that holds elements start, start + 1, … of the tensor's flat row-major order in
the unsharded checkpoint. Cutting a tensor into other ranges never changes a bit.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coevo.noise.kernels import add_directions, write_normals, write_perturbed
from coevo.noise.keys import require_word
from coevo.noise.table import normal_table

FloatArray = NDArray[np.float32]


def normals(key: int, tensor: int, start: int, count: int) -> FloatArray:
    """ε of elements start, …, start + count - 1: shape (count,), fp32, standard normal.

    Meant for small ranges (tests, reports): whole tensors go through `perturb` and `apply_update`.

    Args:
        key: From `direction_key`.
        tensor: From `tensor_key`.
        start: Flat index of the first element.
        count: Number of elements.

    Raises:
        ValueError: If an argument is negative or the range leaves [0, 2⁶⁴).
    """
    if count < 0:
        raise ValueError(f"count must not be negative, got {count}")
    _check_stream((key,), tensor, start, count)
    out = np.empty(count, np.float32)
    write_normals(out, normal_table(), np.uint64(key), np.uint64(tensor), np.uint64(start))
    return out


def perturb(base: FloatArray, out: FloatArray, *, key: int, tensor: int, scale: float, start: int = 0) -> None:
    """Write base + scale · ε into `out`; each of the two operations is rounded to fp32 once.

    Args:
        base: Unperturbed weights of the range; not changed.
        out: Receives the result; same length, no memory in common with `base`.
        key: From `direction_key`.
        tensor: From `tensor_key`.
        scale: Signed standard deviation, rounded to fp32 first; -scale gives the mirrored member.
        start: Flat index of the first element.

    Raises:
        ValueError: If arrays, keys or scale are not as described.
    """
    _check_array("base", base)
    _check_array("out", out)
    if len(base) != len(out):
        raise ValueError(f"base and out must have the same length, got {len(base)} and {len(out)}")
    if np.may_share_memory(base, out):
        raise ValueError("out must not share memory with base: restoring the base would lose bits; pass another array")
    _check_writeable("out", out)
    _check_stream((key,), tensor, start, len(base))
    rounded = _finite_fp32("scale", (scale,))[0]
    write_perturbed(out, base, normal_table(), np.uint64(key), np.uint64(tensor), rounded, np.uint64(start))


def apply_update(
    weights: FloatArray, *, keys: Sequence[int], coefficients: Sequence[float], tensor: int, start: int = 0
) -> None:
    """Add Σᵢ coefficientᵢ · εᵢ to `weights` in place.

    The sum starts at 0 and runs in fp32 in the order given, every product and sum rounded once; then one fp32 addition
    to the weights.

    Args:
        weights: Weights of the range, changed in place.
        keys: From `direction_key`, one per direction, in summation order.
        coefficients: One per key, rounded to fp32 first (recorded coefficients are exact already).
        tensor: From `tensor_key`.
        start: Flat index of the first element.

    Raises:
        ValueError: If arrays, keys or coefficients are not as described.
    """
    _check_array("weights", weights)
    _check_writeable("weights", weights)
    if len(keys) != len(coefficients):
        raise ValueError(f"expected one coefficient per key, got {len(keys)} keys and {len(coefficients)} coefficients")
    _check_stream(keys, tensor, start, len(weights))
    factors = _finite_fp32("coefficients", coefficients)
    if len(keys) > 0:
        words = np.array(keys, np.uint64)
        add_directions(weights, normal_table(), words, factors, np.uint64(tensor), np.uint64(start))


def _check_array(label: str, array: FloatArray) -> None:
    if array.ndim != 1 or array.dtype != np.float32 or not array.flags.c_contiguous:
        raise ValueError(f"{label} must be a 1-D contiguous float32 array, got {array.dtype} of shape {array.shape}")


def _check_writeable(label: str, array: FloatArray) -> None:
    if not array.flags.writeable:
        raise ValueError(f"{label} must be writeable, got a read-only array")


def _check_stream(keys: Sequence[int], tensor: int, start: int, count: int) -> None:
    for key in keys:
        require_word("key", key)
    require_word("tensor", tensor)
    require_word("start", start)
    if start + count > 2**64:
        raise ValueError(f"the range must end at or before index 2^64, got start {start} and {count} elements")


def _finite_fp32(label: str, values: Sequence[float]) -> FloatArray:
    with np.errstate(over="ignore"):
        rounded = np.asarray(values, np.float64).astype(np.float32)
    if not np.isfinite(rounded).all():
        raise ValueError(f"{label} must be finite in fp32, got {list(values)}")
    return rounded
