import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import coevo
from coevo.engines.checkpoint import write_checkpoint

SHAPES = {"a": (3, 700), "b": (2, 4100), "fixed": (50,)}
WALK = Path(__file__).with_name("walk_device_cells.py")


@pytest.mark.slow
@pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")
def test_a_device_serves_the_bits_of_the_host(tmp_path, write_random_basis):
    """P15: members, updates, fingerprints and bases agree in every type, rule and mode, in Triton's interpreter."""
    rng = np.random.default_rng(3)
    arrays = {name: rng.normal(0, 0.1, shape).astype(np.float32) for name, shape in SHAPES.items()}
    write_checkpoint(tmp_path / "model.safetensors", arrays, SHAPES)
    write_random_basis(tmp_path / "guided.basis", {"a": SHAPES["a"], "b": SHAPES["b"]})
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(Path(coevo.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, str(WALK), str(tmp_path)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert len(found) == 8 * (1 + 5 + 3 * 2 + 1) + (1 + 2 + 2 + 1)
    assert [what for what, agree in found if not agree] == []


def test_where_the_base_of_a_gpu_is_kept():
    """It stays on the device if it leaves room there, goes to the host if not, and a choice of the user's stands."""
    pytest.importorskip("triton")
    import torch

    from coevo.block import Block
    from coevo.engines.device_cells import resolved
    from coevo.engines.policy import WeightPolicy

    moving = [(Block.whole("w", (10, 10)), torch.empty(10, 10, dtype=torch.bfloat16))]
    assert resolved(WeightPolicy(), moving, 500).restore == "copy"
    assert resolved(WeightPolicy(), moving, 400).restore == "host"
    assert resolved(WeightPolicy(update_rule="nearest"), moving, 400).restore == "copy"
    assert resolved(WeightPolicy(restore="copy"), moving, 1).restore == "copy"
