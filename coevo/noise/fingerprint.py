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

from coevo.block import Block
from coevo.noise.arrays import is_gapless, words_of
from coevo.noise.hashing import sum_of_hashes

_DOMAIN = b"coevo-finger-v1"


def fingerprint(tensors: Mapping[str, NDArray[Any]]) -> int:
    """Fingerprint of whole tensors, in [0, 2⁶⁴); 0 for no elements.

    Args:
        tensors: Checkpoint name -> array of a 2- or 4-byte type, any shape, read in row-major order (bfloat16 is passed
            viewed as uint16). The bytes count, not the numbers: -0.0 and 0.0 differ, so do fp16 and fp32.

    Raises:
        ValueError: If an array has another item size.
    """
    return sum(_whole(name, values) for name, values in tensors.items()) % 2**64


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
    key = np.uint64(name_key(block.tensor, values.itemsize))
    if not block.size:
        return 0
    words, stride = words_of("values", values, block)
    words.flags.writeable = False
    rows, cols = (1, block.size) if is_gapless(block, stride) else (block.rows, block.cols)
    place = (key, np.uint64(block.start), np.uint64(block.width if rows > 1 else 0))
    return int(sum_of_hashes(words, stride, rows, cols, place))


def _whole(name: str, values: NDArray[Any]) -> int:
    block = Block.whole(name, values.shape)
    return fingerprint_part(np.ascontiguousarray(values).reshape(block.rows, block.cols), block)


def name_key(name: str, itemsize: int) -> int:
    """64-bit key of a tensor's hashes: blake2b of its name and the bytes per element."""
    message = bytes([itemsize]) + name.encode()
    return int.from_bytes(hashlib.blake2b(message, digest_size=8, person=_DOMAIN).digest(), "little")
