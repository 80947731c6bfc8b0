"""Every random choice of a run has a name; its seed follows from the run's seed and that name, and from nothing else.

So no generator state has to be saved: a resumed run derives the same seeds, and adding a random act changes no other.
"""

import hashlib

import numpy as np


def seed_of(run_seed: int, *name: str | int) -> int:
    """64-bit seed of a named random act."""
    text = "\x1f".join(["coevo-seed-v1", str(run_seed), *(str(part) for part in name)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def generator_of(run_seed: int, *name: str | int) -> np.random.Generator:
    """A generator of its own for a named random act."""
    return np.random.Generator(np.random.Philox(key=seed_of(run_seed, *name)))
