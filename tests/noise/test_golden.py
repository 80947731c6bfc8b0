"""Recorded noise: a device, a kernel or a version that gives other bits breaks replay of every recorded run.

`python tests/noise/test_golden.py` writes the vectors of the modes anew, which only a new noise scheme may do.
"""

import hashlib
import json
import math
from pathlib import Path

import numpy as np
import pytest

from coevo import noise
from coevo.block import Block, matrix_shape
from coevo.interfaces import Member, Partition, Update
from coevo.noise import oracle
from coevo.noise.basis import Basis, BasisOrigin, BasisPart

FOLDER = Path(__file__).parents[1] / "golden"
MODES = FOLDER / "noise_v1_modes.json"
GOLDEN = json.loads((FOLDER / "noise_v1.json").read_text())
RECORDED = json.loads(MODES.read_text()) if MODES.exists() else {"members": {}, "updates": {}, "keys": {}}

MATRIX = Block("model.layers.3.mlp.down_proj.weight", (70, 300), 3, 11, 60, 250)
TENSOR = Block.whole("w", (5, 4097))
CUTS = {"": None, " by element": Partition(3, "element"), " by tile": Partition(3, "tile")}
MEMBERS = {
    f"{dtype}{cut} of rank {rank}": (dtype, Member(42, 7, 2, -1, 0.0123, partition, 0, rank))
    for dtype in ("float32", "uint16", "float16")
    for cut, partition in CUTS.items()
    for rank in (0, 3)
}
UPDATES = {
    f"{rule} on {dtype}{cut} of rank {rank}": (
        dtype,
        rule,
        Update(42, 7, (0, 1, 1, 4), (0.01, -0.02, 0.005, 0.03), partition, (0, 1, 1, 0) if partition else (), rank),
    )
    for dtype, rule in [("float32", "master"), ("uint16", "nearest"), ("uint16", "stochastic"), ("float16", "nearest")]
    for cut, partition in CUTS.items()
    for rank in (0, 3)
}


GUIDED = {
    "float32": ("float32", "master"),
    "bfloat16": ("uint16", "stochastic"),
    "float16": ("float16", "nearest"),
}


def ramp_basis():
    """A basis that needs no random numbers: four vectors over both tensors."""
    parts = {}
    for block, rank in ((MATRIX, 3), (TENSOR, 2)):
        rows, cols = matrix_shape(block.shape)
        left, core, right = (
            ((np.arange(math.prod(shape)) * step) % 255 - 127).astype(np.int8).reshape(shape)
            for shape, step in (((rows, rank), 37), ((4, rank, rank), 91), ((rank, cols), 53))
        )
        parts[block.tensor] = BasisPart(left, core, right, (np.arange(1, 5) * 2.0**-22).astype(np.float32))
    mixing = ((np.arange(16) * 7 % 16 - 8) / 16).astype(np.float32).reshape(4, 4)
    return Basis.of(parts, mixing, BasisOrigin(method="ramp", architecture="none", fingerprint="", seed=0))


def guided_vectors(implementation):
    """Digests of guided members and updates of every type on the rectangle and on the whole tensor."""
    basis, found = ramp_basis(), {}
    member = Member(42, 7, 2, -1, 0.0123, basis=basis.identity)
    update = Update(42, 7, (0, 1, 4), (0.01, -0.02, 0.03), basis=basis.identity)
    for name, (dtype, rule) in GUIDED.items():
        blocks = [(block, ramp(block, dtype)) for block in (MATRIX, TENSOR)]
        if implementation is oracle:
            members = [oracle.perturbed(base, block, member, np.dtype(dtype), basis) for block, base in blocks]
            updates = [oracle.updated(base, block, update, rule, basis) for block, base in blocks]
        else:
            members, updates = [base.copy() for _, base in blocks], [base.copy() for _, base in blocks]
            for place, (block, base) in enumerate(blocks):
                noise.perturb(base, members[place], block, member, basis=basis)
                noise.apply_update(updates[place], block, update, rule, basis=basis)
        found[name] = {"member": [*map(digest, members)], "update": [*map(digest, updates)]}
    return {"identity": f"{basis.identity:016x}", **found}


def digest(values):
    """SHA-256 of the little-endian bytes."""
    return hashlib.sha256(values.astype(values.dtype.newbyteorder("<")).tobytes()).hexdigest()


def ramp(block, dtype="float32"):
    """Weights that need no random numbers: exact multiples of 2⁻¹⁰ around zero, in bfloat16 their upper halves."""
    values = ((np.arange(block.size) % 2001 - 1000) / 1024).astype(np.float32).reshape(block.rows, block.cols)
    return (values.view(np.uint32) >> np.uint32(16)).astype(np.uint16) if dtype == "uint16" else values.astype(dtype)


def kernel_member(dtype, member, block):
    """A member through the kernel."""
    out = np.empty((block.rows, block.cols), dtype)
    noise.perturb(ramp(block, dtype), out, block, member)
    return out


def kernel_update(dtype, rule, update, block):
    """An update through the kernel."""
    weights = ramp(block, dtype)
    noise.apply_update(weights, block, update, rule)
    return weights


def current_modes():
    """The vectors of this version."""
    keys = {
        f"{kind} {run} {step}": getattr(noise, f"{kind}_key")(run, step)
        for kind in ("subspace", "rounding")
        for run, step in ((0, 0), (2**64 - 1, 12))
    }
    return {
        "scheme": "coevo-noise-v1",
        "keys": {name: str(key) for name, key in keys.items()},
        "members": {
            name: [digest(kernel_member(*case, block)) for block in (MATRIX, TENSOR)] for name, case in MEMBERS.items()
        },
        "updates": {
            name: [digest(kernel_update(*case, block)) for block in (MATRIX, TENSOR)] for name, case in UPDATES.items()
        },
        "guided": guided_vectors(noise),
    }


@pytest.mark.parametrize("implementation", [noise, oracle])
@pytest.mark.parametrize("vector", GOLDEN["normals"])
def test_recorded_normals(vector, implementation):
    """P15: the normals of a recorded (run, step, direction, tensor, range) have the recorded bytes."""
    start, count = int(vector["start"]), vector["count"]
    block = Block(vector["tensor"], (start + count,), 0, start, 1, count)
    values = implementation.normals(block, int(vector["run_key"]), vector["step"], vector["direction"])[0]
    assert [float(value).hex() for value in values[:4]] == vector["first"]
    assert digest(values) == vector["sha256"]


def test_recorded_member():
    """P15: a perturbed range of tensor "w" of run 42 has the recorded bytes."""
    vector = GOLDEN["perturb"]
    assert [int(vector["key"]), int(vector["tensor"])] == [noise.direction_key(42, 0, 0), noise.tensor_key("w")]
    block = Block("w", (3 + vector["count"],), 0, 3, 1, vector["count"])
    base = ramp(block)
    out = np.empty_like(base)
    noise.perturb(base, out, block, Member(42, 0, 0, 1, vector["scale"]))
    assert digest(out) == vector["sha256"]


def test_recorded_update():
    """P15: an updated range has the recorded bytes and the recorded fingerprint."""
    vector = GOLDEN["update"]
    assert [int(key) for key in vector["keys"]] == [noise.direction_key(42, 0, direction) for direction in range(3)]
    block = Block("w", (3 + vector["count"],), 0, 3, 1, vector["count"])
    weights = ramp(block)
    noise.apply_update(weights, block, Update(42, 0, (0, 1, 2), tuple(vector["coefficients"])), "master")
    assert digest(weights) == vector["sha256"]
    whole = Block.whole("w", (vector["count"],))
    assert f"{noise.fingerprint_part(weights, whole):016x}" == vector["fingerprint"]


@pytest.mark.parametrize("name", MEMBERS)
def test_recorded_members_of_every_kind(name):
    """P15: types, subspaces and ranks give the recorded bytes on a rectangle and on a whole tensor."""
    assert [digest(kernel_member(*MEMBERS[name], block)) for block in (MATRIX, TENSOR)] == RECORDED["members"][name]
    dtype, member = MEMBERS[name]
    expected = oracle.perturbed(ramp(MATRIX, dtype), MATRIX, member, np.dtype(dtype))
    assert digest(expected) == RECORDED["members"][name][0]


@pytest.mark.parametrize("name", UPDATES)
def test_recorded_updates_of_every_kind(name):
    """P15: types, rules, subspaces and ranks give the recorded bytes on a rectangle and on a whole tensor."""
    assert [digest(kernel_update(*UPDATES[name], block)) for block in (MATRIX, TENSOR)] == RECORDED["updates"][name]
    dtype, rule, update = UPDATES[name]
    expected = oracle.updated(ramp(MATRIX, dtype), MATRIX, update, rule)
    assert digest(expected) == RECORDED["updates"][name][0]


@pytest.mark.parametrize("implementation", [noise, oracle])
def test_recorded_guided_noise(implementation):
    """P15: a basis has the recorded identity, its members and updates the recorded bytes."""
    assert guided_vectors(implementation) == RECORDED["guided"]


def test_recorded_keys():
    """P15: the keys of subspaces and rounding are the recorded ones."""
    assert current_modes()["keys"] == RECORDED["keys"]


if __name__ == "__main__":
    MODES.write_text(json.dumps(current_modes(), indent=2) + "\n")
