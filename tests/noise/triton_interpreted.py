"""Run by `test_triton.py` in a process of its own: Triton's interpreter against the compiled kernels, bit by bit.

Prints one line per comparison: what was compared, and whether every bit agreed.
"""

import sys
import warnings
from dataclasses import replace

import numpy as np
import torch

from coevo import noise
from coevo.block import Block, matrix_shape
from coevo.interfaces import Member, Partition, Update
from coevo.noise import triton_kernels
from coevo.noise.basis import Basis, BasisOrigin, BasisPart

# Half of what the interpreter computes is thrown away behind a mask; NumPy warns of overflows in it.
warnings.filterwarnings("ignore", category=RuntimeWarning)

KINDS = {"float32": np.float32, "bfloat16": np.uint16, "float16": np.float16}
PARTITIONS = {"whole": None, "element": Partition(3, "element"), "tile": Partition(2, "tile")}
BLOCKS = {
    "unaligned": Block("w", (10, 1300), 2, 13, 2, 1030),
    "aligned": Block("w", (6, 2048), 1, 1024, 2, 640),
    "flat": Block("v", (3, 700), 0, 0, 3, 700),
    "far": Block("v", (2**40, 512), 2**39 + 1, 8, 2, 64),
}


def report(*parts):
    """One line of the result."""
    sys.stdout.write(" ".join(map(str, parts)) + "\n")


def on_host(tensor):
    """The bits of a tensor."""
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.view(torch.int16)
    return tensor.contiguous().numpy().tobytes()


def weights(block, dtype):
    """Weights with unused elements between the rows, and the tensor that shares nothing with them."""
    rng = np.random.default_rng(3)
    values = rng.standard_normal((block.rows, block.cols)).astype(np.float32)
    values[:, ::9], values[:, 1::9], values[0, 2] = -0.0, 1e-40, 3.39e38
    if dtype == np.uint16:
        values = (values.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    with np.errstate(over="ignore"):
        values = values.astype(dtype)
    # A flat block keeps its gapless memory; the others get a distance between rows.
    room = torch.zeros(
        block.rows, block.cols + (0 if block.is_contiguous else 24), dtype=torch.from_numpy(values).dtype
    )
    tensor = room[:, : block.cols]
    tensor.copy_(torch.from_numpy(values))
    return values, tensor.view(torch.bfloat16) if dtype == np.uint16 else tensor


def compare(kind, dtype, place, block, rank, partition):
    """Every function on one block."""
    cut = PARTITIONS[partition]
    label = f"{kind} {place} {partition} rank {rank}"
    member = Member(2**64 - 5, 2, 3, -1, 0.01, cut, 1 if cut else 0, rank)
    values, tensor = weights(block, dtype)
    out, out_tensor = np.zeros_like(values), torch.zeros_like(tensor)
    noise.perturb(values, out, block, member)
    triton_kernels.perturb(tensor, out_tensor, block, member)
    report(f"perturb {label}:", on_host(out_tensor) == out.tobytes())
    subspaces = (0, 1, 1) if cut else ()
    update = Update(2**64 - 5, 2, (4, 4, 1), (0.1, -0.2, 3e-5), cut, subspaces, rank)
    rule = "stochastic" if kind == "bfloat16" else "nearest"
    still = replace(update, coefficients=(0.1, -0.1, -0.0))
    triton_kernels.apply_update(tensor, block, replace(still, subspaces=(1, 1, 0) if cut else ()), rule)
    report(f"standstill {label}:", on_host(tensor) == values.tobytes())
    noise.apply_update(values, block, update, rule)
    triton_kernels.apply_update(tensor, block, update, rule)
    report(f"update {label}:", on_host(tensor) == values.tobytes())
    same = triton_kernels.fingerprint_part(tensor, block) == noise.fingerprint_part(values, block)
    report(f"fingerprint {label}:", same)


def compare_guided(kind, dtype, place, block):
    """Members and updates in the span of a basis."""
    rows, cols = matrix_shape(block.shape)
    rng = np.random.default_rng(4)
    left, core, right = (
        rng.integers(-127, 128, s).astype(np.int8) for s in ((rows, 3), (5, 3, min(5, cols)), (min(5, cols), cols))
    )
    part = BasisPart(left, core, right, np.full(5, 1e-6, np.float32))
    origin = BasisOrigin(method="random", architecture="none", fingerprint="", seed=4)
    basis = Basis.of({block.tensor: part}, rng.standard_normal((5, 5)).astype(np.float32), origin)
    values, tensor = weights(block, dtype)
    out, out_tensor = np.zeros_like(values), torch.zeros_like(tensor)
    member = Member(2**64 - 5, 2, 3, -1, 0.01, basis=basis.identity)
    noise.perturb(values, out, block, member, basis=basis)
    triton_kernels.perturb(tensor, out_tensor, block, member, basis=basis)
    report(f"perturb {kind} {place} guided:", on_host(out_tensor) == out.tobytes())
    update = Update(2**64 - 5, 2, (4, 4, 1), (0.1, -0.2, 3e-5), basis=basis.identity)
    noise.apply_update(values, block, update, "nearest", basis=basis)
    triton_kernels.apply_update(tensor, block, update, "nearest", basis=basis)
    report(f"update {kind} {place} guided:", on_host(tensor) == values.tobytes())


def main():
    """Every type, block, cut and rank at least once."""
    partitions = list(PARTITIONS)
    for turn, (place, block) in enumerate(BLOCKS.items()):
        for shift, (kind, dtype) in enumerate(KINDS.items()):
            compare(kind, dtype, place, block, 0, partitions[(turn + shift) % 3])
    compare("bfloat16", np.uint16, "unaligned", BLOCKS["unaligned"], 2, "tile")
    compare("float32", np.float32, "aligned", BLOCKS["aligned"], 3, "element")
    for place, kind in (("unaligned", "float32"), ("aligned", "bfloat16"), ("flat", "float16")):
        compare_guided(kind, KINDS[kind], place, BLOCKS[place])
    base, rounded = torch.full((1, 16), 1.00390625), torch.zeros(1, 16, dtype=torch.bfloat16)
    triton_kernels.perturb(base, rounded, Block.whole("w", (16,)), Member(1, 0, 0, 1, 0.0))
    report("a tie from float32 goes to even:", bool((rounded == 1.0).all()))


if __name__ == "__main__":
    sys.exit(main())
