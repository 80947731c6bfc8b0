"""The 64-bit keys that name a stream of noise: one per (run, step, direction), one per checkpoint tensor."""

import hashlib
import struct

_DOMAIN = b"coevo-noise-v1"
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
    for label, value in (("run_key", run_key), ("step", step), ("direction", direction)):
        require_word(label, value)
    return _word(struct.pack("<QQQ", run_key, step, direction), person=_DOMAIN)


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


def _word(message: bytes, person: bytes = b"") -> int:
    return int.from_bytes(hashlib.blake2b(message, digest_size=8, person=person).digest(), "little")
