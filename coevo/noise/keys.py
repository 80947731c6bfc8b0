"""The 64-bit keys that name a stream of random bits, and one per checkpoint tensor.

Every purpose has its domain, so that noise, subspaces and rounding of one step share no bits.
"""

import hashlib
import struct
from functools import lru_cache

_NOISE = b"coevo-noise-v1"
_SUBSPACES = b"coevo-subsp-v1"
_ROUNDING = b"coevo-round-v1"
_WORDS = 2**64


def direction_key(run_key: int, step: int, direction: int) -> int:
    """Philox key of one noise direction, in [0, 2⁶⁴).

    The sign of an antithetic member is not part of the key: both halves of a pair share the direction.

    Args:
        run_key: 64-bit key of the run's noise.
        step: Index of the ask/tell; the two steps of one generation differ here.
        direction: Index of the direction within the step.

    Returns:
        The first 8 bytes, little-endian, of blake2b over the domain "coevo-noise-v1" and the three numbers.

    Raises:
        ValueError: If one of the three is not in [0, 2⁶⁴).
    """
    return _stream_key(_NOISE, run_key=run_key, step=step, direction=direction)


def subspace_key(run_key: int, step: int) -> int:
    """Philox key of the subspaces of one step, in [0, 2⁶⁴): domain "coevo-subsp-v1"; see `direction_key`."""
    return _stream_key(_SUBSPACES, run_key=run_key, step=step)


def rounding_key(run_key: int, step: int) -> int:
    """Philox key of the bits that round a step's update, in [0, 2⁶⁴): domain "coevo-round-v1"; see `direction_key`."""
    return _stream_key(_ROUNDING, run_key=run_key, step=step)


@lru_cache(maxsize=1024)
def tensor_key(name: str) -> int:
    """Counter half of one tensor, in [0, 2⁶⁴): the first 8 bytes, little-endian, of blake2b of its UTF-8 name.

    Args:
        name: Name of the tensor in the checkpoint (safetensors), not in the engine: fused layers have no key.

    Raises:
        ValueError: If the name is empty.
    """
    if not name:
        raise ValueError("tensor_key expects the name of a tensor in the checkpoint, got an empty string")
    return _word(name.encode())


def require_word(label: str, value: int) -> None:
    """Raise ValueError unless `value` is a whole number in [0, 2⁶⁴)."""
    if not 0 <= value < _WORDS:
        raise ValueError(f"{label} must be a whole number in [0, 2^64), got {value}")


@lru_cache(maxsize=64)
def _stream_key(domain: bytes, **numbers: int) -> int:
    for label, value in numbers.items():
        require_word(label, value)
    return _word(struct.pack(f"<{len(numbers)}Q", *numbers.values()), person=domain)


def _word(message: bytes, person: bytes = b"") -> int:
    return int.from_bytes(hashlib.blake2b(message, digest_size=8, person=person).digest(), "little")
