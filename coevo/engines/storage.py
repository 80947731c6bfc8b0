"""The types that weights are stored, kept and served in, and the way from one to another."""

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from coevo.errors import ModelError
from coevo.interfaces import Storage, UpdateRule

Array = NDArray[Any]

BFLOAT16 = np.dtype("<u2")
"""bfloat16 on the host is its bits: NumPy has no such type."""

STORAGE: dict[str, np.dtype[Any]] = {
    "float32": np.dtype("<f4"),
    "bfloat16": BFLOAT16,
    "float16": np.dtype("<f2"),
}
CODES: dict[str, Storage] = {"F32": "float32", "BF16": "bfloat16", "F16": "float16"}
"""What safetensors calls them."""


def storage_of(dtype: np.dtype[Any]) -> Storage:
    """The storage type that an array of this type holds."""
    return cast(Storage, next(name for name, its in STORAGE.items() if its == dtype))


def code_of(storage: Storage) -> str:
    """What safetensors calls a storage type."""
    return next(code for code, name in CODES.items() if name == storage)


def exact_storage(served: str, rule: UpdateRule) -> Storage:
    """The type in which the exact base of weights is kept that are served in a type.

    Raises:
        ModelError: For float16 under stochastic rounding, whose bits are defined for bfloat16 alone.
    """
    if rule == "master" or served == "float32":
        return "float32"
    if rule == "stochastic" and served == "float16":
        raise ModelError(
            "expected float32 or bfloat16 weights for stochastic rounding, got float16; "
            "use --update-rule master or nearest"
        )
    return cast(Storage, served)


def exact_type(served: np.dtype[Any], rule: UpdateRule) -> np.dtype[Any]:
    """`exact_storage` for the type of an array."""
    return STORAGE[exact_storage(storage_of(served), rule)]


def to_storage(values: Array, dtype: np.dtype[Any]) -> Array:
    """fp32 values, shape (rows, cols), in a storage type, rounded to nearest even; themselves if they are of it."""
    if values.dtype == dtype:
        return values
    out = np.empty(values.shape, dtype)
    copy_rounded(values, out)
    return out


def widened(values: Array) -> NDArray[np.float32]:
    """Stored values as fp32, exactly."""
    if values.dtype == BFLOAT16:
        return (values.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return values.astype(np.float32)


def copy_rounded(base: Array, out: Array) -> None:
    """Out := base in the type of `out`; fp32 is rounded to nearest even."""
    from coevo import noise

    noise.copy_rounded(base, out)
