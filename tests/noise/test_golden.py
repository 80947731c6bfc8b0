"""Recorded noise: a device, a kernel or a version that gives other bits breaks replay of every recorded run."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from coevo import noise
from coevo.noise import oracle

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "noise_v1.json").read_text())


def digest(values):
    """SHA-256 of the little-endian bytes."""
    return hashlib.sha256(values.astype("<f4").tobytes()).hexdigest()


def ramp(count):
    """Weights that need no random numbers: exact multiples of 2⁻¹⁰ around zero."""
    return ((np.arange(count) % 2001 - 1000) / 1024).astype(np.float32)


@pytest.mark.parametrize("implementation", [noise, oracle])
@pytest.mark.parametrize("vector", GOLDEN["normals"])
def test_recorded_normals(vector, implementation):
    """The normals of a recorded (run, step, direction, tensor, range) have the recorded bytes."""
    key = noise.direction_key(int(vector["run_key"]), vector["step"], vector["direction"])
    values = implementation.normals(key, noise.tensor_key(vector["tensor"]), int(vector["start"]), vector["count"])
    assert [float(value).hex() for value in values[:4]] == vector["first"]
    assert digest(values) == vector["sha256"]


def test_recorded_member():
    """A perturbed range has the recorded bytes."""
    vector = GOLDEN["perturb"]
    base = ramp(vector["count"])
    out = np.empty_like(base)
    noise.perturb(base, out, key=int(vector["key"]), tensor=int(vector["tensor"]), scale=vector["scale"], start=3)
    assert digest(out) == vector["sha256"]


def test_recorded_update():
    """An updated range has the recorded bytes and the recorded fingerprint."""
    vector = GOLDEN["update"]
    weights = ramp(vector["count"])
    keys = [int(key) for key in vector["keys"]]
    noise.apply_update(weights, keys=keys, coefficients=vector["coefficients"], tensor=int(vector["tensor"]), start=3)
    assert digest(weights) == vector["sha256"]
    assert f"{noise.fingerprint({'w': weights}):016x}" == vector["fingerprint"]
