"""Noise that depends on (run key, step, direction, tensor name, flat index) and on nothing else.

Device, engine, fused layers, shards, chunks and threads never enter. Importing this package loads Numba, so it is
imported where weights are moved and nowhere else. `oracle` states the same functions in plain NumPy, for tests.
"""

from coevo.noise.dense import apply_update, normals, perturb
from coevo.noise.fingerprint import fingerprint, fingerprint_part
from coevo.noise.keys import direction_key, tensor_key

__all__ = [
    "apply_update",
    "direction_key",
    "fingerprint",
    "fingerprint_part",
    "normals",
    "perturb",
    "tensor_key",
]
