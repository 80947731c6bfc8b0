"""Speed of the noise on the host against the straightforward chain in torch, and the memory it needs.

    python tests/benchmarks/noise_speed.py [--layers 24] [--repeats 5] [--members 30] [--threads 2]

The tensors are those of a model of 0.5 B parameters (151,936 x 896 embeddings, 24 layers), filled with numbers. The
chain is what published code does: one generator per tensor, randn, multiply, add, and subtract the same again to
restore; its update adds seed by seed. Here a member is written from its base, so there is nothing to restore. Both take
turns in one process on the same number of threads; times are wall seconds, and a ratio is formed within a turn. The
update is measured on one layer. Compilation is not counted.
"""

import argparse
import os
import platform
import statistics
import time
import tracemalloc
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import Any

import numpy as np
import torch

from coevo import noise
from coevo.block import Block
from coevo.interfaces import Member, Update, UpdateRule

SIGMA, PIECE = 1e-3, 1 << 20
LAYER = {
    "self_attn.q_proj.weight": (896, 896),
    "self_attn.q_proj.bias": (896,),
    "self_attn.k_proj.weight": (128, 896),
    "self_attn.v_proj.weight": (128, 896),
    "self_attn.o_proj.weight": (896, 896),
    "mlp.gate_proj.weight": (4864, 896),
    "mlp.up_proj.weight": (4864, 896),
    "mlp.down_proj.weight": (896, 4864),
    "input_layernorm.weight": (896,),
    "post_attention_layernorm.weight": (896,),
}
TYPES = {"bfloat16": torch.bfloat16, "float32": torch.float32}


def shapes_of(layers: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a model with so many layers."""
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (151_936, 896)} if layers > 1 else {}
    for layer in range(layers):
        shapes |= {f"model.layers.{layer}.{name}": shape for name, shape in LAYER.items()}
    return shapes


class Copy:
    """The weights as torch tensors, the same memory as NumPy arrays, and a base apart from it."""

    def __init__(self, layers: int, dtype: str, threads: int) -> None:
        self.tensors = {name: torch.full(shape, 0.02, dtype=TYPES[dtype]) for name, shape in shapes_of(layers).items()}
        self.blocks = {name: Block.whole(name, tuple(tensor.shape)) for name, tensor in self.tensors.items()}
        self.served = {name: self._host(name) for name in self.tensors}
        self.base = {name: array.copy() for name, array in self.served.items()}
        self.size = sum(block.size for block in self.blocks.values())
        self._pool = ThreadPoolExecutor(threads)

    def _host(self, name: str) -> Any:
        tensor, block = self.tensors[name], self.blocks[name]
        words = tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor
        return words.numpy().reshape(block.rows, block.cols)

    def _each_piece(self, job: Callable[[str, Block, slice, slice], None]) -> None:
        jobs = [
            self._pool.submit(job, name, piece, down, across)
            for name, block in self.blocks.items()
            for piece, down, across in block.pieces(PIECE)
        ]
        for done in jobs:
            done.result()

    def perturb(self, member: Member) -> None:
        """Serve a member."""
        self._each_piece(
            lambda name, piece, down, across: noise.perturb(
                self.base[name][down, across], self.served[name][down, across], piece, member
            )
        )

    def update(self, update: Update, rule: UpdateRule) -> None:
        """Move the weights."""
        self._each_piece(
            lambda name, piece, down, across: noise.apply_update(self.served[name][down, across], piece, update, rule)
        )

    def chain(self, seed: int, scale: float) -> None:
        """One generator per tensor, randn, multiply, add."""
        for tensor in self.tensors.values():
            generator = torch.Generator().manual_seed(seed)
            tensor.add_(scale * torch.randn(tensor.shape, dtype=tensor.dtype, generator=generator))

    def chain_update(self, coefficients: Sequence[float]) -> None:
        """The chain for one seed after the other."""
        for seed, coefficient in enumerate(coefficients):
            self.chain(seed, coefficient)


def time_s(run: Callable[[], Any]) -> float:
    """Wall seconds of one call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def take_turns(runs: dict[str, Callable[[], Any]], repeats: int) -> dict[str, list[float]]:
    """Wall seconds of each version, one value per turn; the first turn is not counted."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(repeats + 1):
        for name, run in runs.items():
            seconds = time_s(run)
            if turn > 0:
                times[name].append(seconds)
    return times


def spread(values: Sequence[float], digits: int) -> str:
    """Median and range."""
    return f"{statistics.median(values):,.{digits}f} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


def rows_of(what: str, numbers: int, times: dict[str, list[float]]) -> list[str]:
    """Rows of the result: millions of numbers per second, and the ratio to coevo's time of the same turn."""
    rows = []
    for name, values in times.items():
        ratios = [value / own for value, own in zip(values, times["coevo"], strict=True)]
        rates = [numbers / value / 1e6 for value in values]
        rows.append(f"| {what} | {name} | {spread(rates, 0)} | {spread(ratios, 2)} |")
    return rows


def measure_members(dtype: str, options: argparse.Namespace) -> list[str]:
    """Perturb (and for the chain restore) all tensors."""
    copy = Copy(options.layers, dtype, options.threads)
    runs = {
        "coevo": lambda: copy.perturb(Member(1, 2, 3, 1, SIGMA)),
        "torch chain": lambda: copy.chain(7, SIGMA),
        "torch chain and restore": lambda: (copy.chain(7, SIGMA), copy.chain(7, -SIGMA)),
    }
    what = f"member, {dtype}, {copy.size / 1e6:.0f} M parameters"
    return rows_of(what, copy.size, take_turns(runs, options.repeats))


def measure_update(dtype: str, rule: UpdateRule, options: argparse.Namespace) -> list[str]:
    """Update one layer from all members of a step."""
    copy = Copy(1, dtype, options.threads)
    coefficients = tuple(1e-5 * (k % 7 - 3) for k in range(options.members))
    update = Update(1, 2, tuple(range(options.members)), coefficients)
    runs = {"coevo": lambda: copy.update(update, rule), "torch chain": lambda: copy.chain_update(coefficients)}
    what = f"update of {options.members} members ({rule}), {dtype}, {copy.size / 1e6:.0f} M parameters"
    return rows_of(what, copy.size * options.members, take_turns(runs, options.repeats))


def peak_mib(run: Callable[[], Any]) -> float:
    """MiB that Python and NumPy allocate at most during a call, beyond what is there."""
    tracemalloc.start()
    run()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def measure_memory(options: argparse.Namespace) -> list[str]:
    """Memory beyond base and served weights; the kernels' own scratch (30 KB per thread) is not seen."""
    copy = Copy(options.layers, "bfloat16", options.threads)
    low_rank = Update(1, 2, tuple(range(options.members)), (1e-5,) * options.members, rank=4)
    runs = {
        "member": lambda: copy.perturb(Member(1, 2, 3, 1, SIGMA)),
        "member of rank 4": lambda: copy.perturb(Member(1, 2, 3, 1, SIGMA, rank=4)),
        "update of 2 members": lambda: copy.update(Update(1, 2, (0, 1), (1e-5, 1e-5)), "stochastic"),
    }
    layer = Copy(1, "bfloat16", options.threads)
    runs[f"update of {options.members} members of rank 4, one layer"] = lambda: layer.update(low_rank, "stochastic")
    return [f"| {name} | {peak_mib(run):.1f} |" for name, run in runs.items()]


def report(line: str) -> None:
    """One line of the result."""
    print(line, flush=True)


def main() -> None:
    """Measure and print tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=24)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--members", type=int, default=30)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    report("| what | version | M numbers/s: median (range) | times coevo's time: median (range) |\n|---|---|---|---|")
    for rows in (
        measure_members("bfloat16", options),
        measure_members("float32", options),
        measure_update("bfloat16", "stochastic", options),
        measure_update("float32", "master", options),
    ):
        for row in rows:
            report(row)
    report("\n| what | MiB beyond base and served weights |\n|---|---|")
    for row in measure_memory(options):
        report(row)
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "torch"))
    report(f"\n{options.threads} threads, {options.repeats} repeats; Python {platform.python_version()}, {packages}")
    report(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; NumPy {np.__version__}")


if __name__ == "__main__":
    main()
