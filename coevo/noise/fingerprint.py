"""A 64-bit fingerprint of weights, computed where they lie, in any order and any cut.

The fingerprint is the sum modulo 2⁶⁴ of one hash per element, keyed by the tensor's name, the 4,096-element block and
the position in it. Addition does not care about order, so chunks, shards and threads each sum their part. One changed
element always changes the sum, because its hash is a bijection; other changes go unseen with probability 2⁻⁶⁴. It
guards against drift and mistakes, not against an adversary.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.noise.kernels import hash_sum
from coevo.noise.keys import require_word

_DOMAIN = b"coevo-finger-v1"


def fingerprint(tensors: Mapping[str, NDArray[Any]]) -> int:
    """Fingerprint of whole tensors, in [0, 2⁶⁴); 0 for no elements.

    Args:
        tensors: Checkpoint name -> array of a 2- or 4-byte type, any shape, read in row-major order (bfloat16 is passed
            viewed as uint16). The bytes count, not the numbers: -0.0 and 0.0 differ, so do fp16 and fp32.

    Raises:
        ValueError: If an array has another item size.
    """
    return sum(fingerprint_part(name, values) for name, values in tensors.items()) % 2**64


def fingerprint_part(name: str, values: NDArray[Any], start: int = 0) -> int:
    """What elements start, start + 1, … of one tensor add to the fingerprint; parts are summed modulo 2⁶⁴.

    Args:
        name: Name of the tensor in the checkpoint.
        values: Consecutive elements, 2 or 4 bytes each.
        start: Flat index of the first element in the unsharded checkpoint tensor.

    Raises:
        ValueError: If the item size is not 2 or 4 bytes, or the start is not in [0, 2⁶⁴).
    """
    require_word("start", start)
    words = _as_words(name, values)
    return int(hash_sum(words, np.uint64(name_key(name, words.itemsize)), np.uint64(start)))


def name_key(name: str, itemsize: int) -> int:
    """64-bit key of a tensor's hashes: blake2b of its name and the bytes per element."""
    message = bytes([itemsize]) + name.encode()
    return int.from_bytes(hashlib.blake2b(message, digest_size=8, person=_DOMAIN).digest(), "little")


def _as_words(name: str, values: NDArray[Any]) -> NDArray[np.unsignedinteger[Any]]:
    if values.itemsize not in (2, 4) or values.dtype.kind not in "fiuV":
        raise ValueError(f"a fingerprint needs elements of 2 or 4 bytes, got {values.dtype} in tensor {name!r}")
    flat = np.ascontiguousarray(values).reshape(-1)
    return flat.view(np.uint16) if flat.itemsize == 2 else flat.view(np.uint32)
