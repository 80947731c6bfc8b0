"""The one way a kernel is compiled: kept on disk, without the interpreter lock, without fast-math.

Fast-math is off, so no multiply-add is contracted and no sum is reordered: every operation is one IEEE fp32 operation.
"""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])
Count: TypeAlias = int | np.int64
Floats: TypeAlias = NDArray[np.float32]
Words: TypeAlias = NDArray[np.uint32]
Lanes: TypeAlias = NDArray[np.uint16]
Bits: TypeAlias = NDArray[np.uint16] | NDArray[np.uint32]
Plain: TypeAlias = tuple[Any, ...]
"""A named tuple without its names: Numba takes it from Python in a fifth of the time, and kernels name it again."""


def kernel(function: F) -> F:
    """Compile a function for arrays, on its first call with each combination of types."""
    return cast(F, njit(cache=True, nogil=True, fastmath=False)(function))
