import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="Triton is not installed; its kernels cannot be compared with the host's")


def run(script, folder, **variables):
    """The lines a script beside this file prints, in a process of its own: the interpreter is chosen on import."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TRITON_")}
    environment |= {"TRITON_CACHE_DIR": str(folder), **variables}
    command = [sys.executable, str(Path(__file__).with_name(script))]
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        command, env=environment | {"PYTHONPATH": root}, capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


@pytest.mark.slow
def test_interpreted_triton_has_the_bits_of_the_compiled_kernels(tmp_path):
    """P15, P28: members, updates, updates of zero and fingerprints of every type, cut and layout agree bit by bit."""
    lines = run("triton_interpreted.py", tmp_path, TRITON_INTERPRET="1")
    assert len(lines) == 4 * 14 + 2 * 3 + 1
    assert [line for line in lines if not line.endswith(": True")] == []


@pytest.mark.slow
def test_compiled_triton_fuses_and_flushes_nothing(tmp_path):
    """P15: machine code for a GPU has no fused multiply-add and keeps subnormals; fusion switched on would show."""
    found = {
        label: [int(number) for number in numbers]
        for label, *numbers in map(str.split, run("triton_compiled.py", tmp_path))
    }
    assert len(found) == 13
    assert found.pop("fused")[0] > 0
    assert {(fused, flushed) for fused, flushed, _ in found.values()} == {(0, 0)}
    assert min(wide for _, _, wide in found.values()) >= 2, found


def test_a_tensor_on_the_host_is_refused(tmp_path):
    """Without a GPU the caller is sent to the kernels of the host."""
    code = (
        "import torch; from coevo.block import Block; from coevo.interfaces import Member\n"
        "from coevo.noise.triton_kernels import perturb\n"
        "t = torch.zeros(1, 4)\n"
        "try: perturb(t, t, Block.whole('w', (4,)), Member(1, 2, 3, 1, 0.1))\n"
        "except ValueError as error: print(error)\n"
    )
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TRITON_")}
    environment |= {"PYTHONPATH": str(Path(__file__).parents[2]), "TRITON_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "base must be a CUDA tensor, got one on cpu; use coevo.noise on the host\n"
