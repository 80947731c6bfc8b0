"""A 64-bit fingerprint of weights, computed where they lie, in any order and any cut.

The fingerprint is the sum modulo 2⁶⁴ of one hash per element, keyed by the tensor's name, the 4,096-element block and
the position in it. Addition does not care about order, so chunks, shards and threads each sum their part. One changed
element always changes the sum, because its hash is a bijection; other changes go unseen with probability 2⁻⁶⁴. It
guards against drift and mistakes, not against an adversary.
"""

import hashlib
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.block import Block
from coevo.noise.arrays import is_gapless, words_of
from coevo.noise.hashing import sum_of_hashes

_DOMAIN = b"coevo-finger-v1"


def fingerprint_part(values: NDArray[Any], block: Block) -> int:
    """What a block of one tensor adds to the fingerprint; parts are summed modulo 2⁶⁴.

    Args:
        values: The block's elements, 2 or 4 bytes each; shape (block.rows, block.cols), contiguous within a row.
        block: Where they lie in their tensor.

    Raises:
        ValueError: If the item size is not 2 or 4 bytes, or shape or strides are not as described.
    """
    if values.itemsize not in (2, 4) or values.dtype.kind not in "fiuV":
        raise ValueError(f"a fingerprint needs elements of 2 or 4 bytes, got {values.dtype} in tensor {block.tensor!r}")
    words, stride = words_of("values", values, block)
    words.setflags(write=False)
    if not block.size:
        return 0
    rows, cols = (1, block.size) if is_gapless(block, stride) else (block.rows, block.cols)
    key = np.uint64(name_key(block.tensor, values.itemsize))
    place = (key, np.uint64(block.start), np.uint64(block.width if rows > 1 else 0))
    return int(sum_of_hashes(words, stride, rows, cols, place))


@lru_cache(maxsize=1024)
def name_key(name: str, itemsize: int) -> int:
    """64-bit key of a tensor's hashes: blake2b of its name and the bytes per element."""
    message = bytes([itemsize]) + name.encode()
    return int.from_bytes(hashlib.blake2b(message, digest_size=8, person=_DOMAIN).digest(), "little")
