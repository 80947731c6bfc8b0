"""Noise that depends on (run key, step, direction, tensor name, flat index) and on nothing else.

Device, engine, fused layers, shards, chunks and threads never enter. Guided noise depends on a stored basis besides.
Importing this package loads Numba, so it is imported where weights are moved and nowhere else. `oracle` states the same
functions in plain NumPy, for tests; `triton_kernels` computes the same bits on CUDA tensors and needs Triton.
"""

from coevo.noise.basis import Basis, read_basis, write_basis
from coevo.noise.fields import factors
from coevo.noise.fingerprint import fingerprint_part
from coevo.noise.keys import direction_key, rounding_key, subspace_key, tensor_key
from coevo.noise.members import normals, perturb
from coevo.noise.rounding import copy_rounded
from coevo.noise.touched import restore_touched, save_touched
from coevo.noise.updates import apply_update

__all__ = [
    "Basis",
    "apply_update",
    "copy_rounded",
    "direction_key",
    "factors",
    "fingerprint_part",
    "normals",
    "perturb",
    "read_basis",
    "restore_touched",
    "rounding_key",
    "save_touched",
    "subspace_key",
    "tensor_key",
    "write_basis",
]
