"""How much memory a run has needed."""

import subprocess
import sys

from coevo.tuning.memory import peak_memory_mb


def test_the_peak_counts_processes_that_were_started():
    """A child that has held 200 MB adds at least these, and is gone from the sum when it has ended."""
    before = peak_memory_mb()
    code = "block = bytearray(b'x') * 200_000_000; print('held', flush=True); del block; input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout.readline() == "held\n"
        with_child = peak_memory_mb()
        child.communicate("\n")
    assert with_child > before + 200
    assert peak_memory_mb() < with_child - 150
