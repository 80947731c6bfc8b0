"""Peak memory of whole tuning runs, in bytes per parameter: ES under each restore mode, and backpropagation.

    OMP_NUM_THREADS=1 python tests/benchmarks/tuning_memory.py [--width 768] [--layers 12]

One generation of `coevo tune` on random bfloat16 Qwen2s (the defaults have 0.11 B parameters), for each method in
processes of its own. The peak is what the run records: the sum of the high-water marks of its processes, loading
included, pages that are backed by files too. What is given is the difference between a large and a small model, divided
by the difference of their parameters, so that libraries and interpreters fall out. Inference alone, for comparison, is
`coevo tune` without a generation that perturbs: it is measured as a run whose target is met at its first measurement,
with the weights kept as for ES by the most frugal rule. The table is Markdown.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from random_models import write_qwen2

SPECIFICATION = """
schema_version = 1
name = "vowels"
title = "Say vowels, two turns long"
conversation = "grows"
source = "tests"
licence = "CC0-1.0"
splits = { train = "learn", val = "choose" }
limits = { turns = 2, turn_tokens = 4, at_once = 16 }
"""

CODE = """
from coevo.interfaces import Message, Step, Task


def tasks(split):
    return [Task(f"{split}-{n}", {}) for n in range(2)]


def open():
    return Vowels()


class Vowels:
    def reset(self, task, seed):
        self._left, self._said = 2, ""
        return [Message("user", f"Say vowels, {task.name}.")]

    def step(self, text):
        self._left, self._said = self._left - 1, self._said + text
        share = sum(letter in "aeiou" for letter in self._said) / max(1, len(self._said))
        return Step([Message("user", "More.")], 0.0 if self._left else share, self._left == 0)

    def close(self):
        pass
"""

TILES = ("--update-rule", "stochastic", "--restore", "tiles", "--subspaces", "4", "--subspace-unit", "tile")
"""The most frugal rule: the served weights are the base."""

CASES: dict[str, tuple[str, ...]] = {
    "inference alone": ("--target", "-1", *TILES),
    "ES, master, copy": ("--restore", "copy"),
    "ES, master, host": ("--restore", "host"),
    "ES, master, mapped": ("--restore", "mapped"),
    "ES, stochastic, copy": ("--update-rule", "stochastic", "--restore", "copy"),
    "ES, stochastic, mapped": ("--update-rule", "stochastic", "--restore", "mapped"),
    "ES, stochastic, tiles, K = 4": TILES,
    "GRPO": ("--method", "grpo"),
    "PPO": ("--method", "ppo"),
}
"""Name -> what it adds to the command. Subspaces need a member each, so all cases have eight."""


def peak_bytes(model: Path, environment: Path, flags: tuple[str, ...], folder: Path) -> float:
    """Run one generation and read its peak."""
    command = [sys.executable, "-m", "coevo", "tune", "--env", str(environment), "--model", str(model), *flags]
    amount = ["--generations", "1", "--tasks", "2", "--members", "8", "--workers", "1", "--top-p", "1", "--json"]
    ended = subprocess.run([*command, *amount, "--runs-dir", str(folder)], capture_output=True, text=True)
    if ended.returncode:
        raise RuntimeError(ended.stderr[-1000:])
    events = (Path(json.loads(ended.stdout)["run"]) / "events.jsonl").read_text().splitlines()
    (finished,) = (event for line in events if (event := json.loads(line))["kind"] == "finished")
    return 1e6 * float(finished["clock"]["peak_mb"])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = folder / "vowels"
        environment.mkdir()
        (environment / "environment.toml").write_text(SPECIFICATION)
        (environment / "environment.py").write_text(CODE)
        small = write_qwen2(folder / "small", width=64, layers=2, vocabulary=4096)
        large = write_qwen2(folder / "large", width=options.width, layers=options.layers)
        versions = ", ".join(f"{package} {version(package)}" for package in ("torch", "transformers"))
        print(f"{large / 1e9:.3f} B parameters less {small / 1e6:.1f} M, bfloat16; {versions}\n")
        print("| method | bytes per parameter at the peak |\n| --- | ---: |")
        for case in options.cases:
            peaks = [
                peak_bytes(folder / size, environment, CASES[case], folder / "runs") for size in ("small", "large")
            ]
            print(f"| {case} | {(peaks[1] - peaks[0]) / (large - small):.2f} |", flush=True)


if __name__ == "__main__":
    main()
