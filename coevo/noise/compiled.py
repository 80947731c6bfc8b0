"""The one way a kernel is compiled: kept on disk, without the interpreter lock, and of the noise without fast-math.

A kernel is compiled again after any edit of its own file or of this package. Those of other packages may come through
here too, as long as they call and read nothing outside their file but the noise.

Fast-math is off for the noise, so no multiply-add is contracted and no sum is reordered: every operation is one IEEE
fp32 operation.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numba import config, njit
from numpy.typing import NDArray

from coevo.kernel_cache import kernel_folder

F = TypeVar("F", bound=Callable[..., Any])
Count: TypeAlias = int | np.int64
Floats: TypeAlias = NDArray[np.float32]
Words: TypeAlias = NDArray[np.uint32]
Lanes: TypeAlias = NDArray[np.uint16]
Bits: TypeAlias = NDArray[np.uint16] | NDArray[np.uint32]
Plain: TypeAlias = tuple[Any, ...]
"""A named tuple without its names: Numba takes it from Python in a fifth of the time, and kernels name it again."""


_FOLDER = kernel_folder("noise", Path(__file__).parent.glob("*.py"), with_package=True)


def kernel(function: F) -> F:
    """Compile a function for arrays, on its first call with each combination of types."""
    return compiled(function, fastmath=False)


def compiled(function: F, *, fastmath: bool | set[str]) -> F:
    """Compile a function for arrays with some liberties of LLVM's in floating point, by their names."""
    with _kept_in(_FOLDER):
        return cast(F, njit(cache=_FOLDER is not None, nogil=True, fastmath=fastmath)(function))


@contextmanager
def _kept_in(folder: Path | None) -> Iterator[None]:
    """Numba asks where to keep a function when it is decorated, and then never again."""
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder or "")
    try:
        yield
    finally:
        config.CACHE_DIR = before
