"""Run by `test_triton.py` in a process of its own: compiles the kernels for an H100/H200 and prints what is in them.

No device is needed. One line per kernel: its name, the number of fused multiply-adds, of operations that flush
subnormal numbers to zero, and of 16-byte reads or writes of the weights.
"""

import itertools
import re
import sys

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from coevo.noise import triton_device, triton_kernels

POINTERS = {
    **dict.fromkeys(["out", "base", "weights", "words"], "*i16"),
    **dict.fromkeys(["table", "left", "right", "coefficients"], "*fp32"),
    **dict.fromkeys(["keys", "sums"], "*i64"),
    **dict.fromkeys(["subspaces", "is_moved"], "*i32"),
    **dict.fromkeys(["scale", "root"], "fp32"),
}
DIVISIBLE = ["out", "base", "weights", "words", "table", "cols", "out_stride", "base_stride", "stride"]


def report(*parts):
    """One line of the result."""
    sys.stdout.write(" ".join(map(str, parts)) + "\n")


def assembly(kernel, constants, *, is_fused=False):
    """PTX of a kernel for compute capability 9.0."""
    names = kernel.arg_names
    signature = {name: "constexpr" if name in constants else POINTERS.get(name, "i64") for name in names}
    values = {(names.index(name),): value for name, value in constants.items()}
    attributes = {(names.index(name),): [["tt.divisibility", 16]] for name in DIVISIBLE if name in names}
    source = ASTSource(fn=kernel, signature=signature, constexprs=values, attrs=attributes)
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"enable_fp_fusion": is_fused}).asm["ptx"]


def count(label, ptx):
    """One line of the result."""
    wide = len(re.findall(r"(?:ld|st)\.global\.v4\.b32", ptx))
    report(label, len(re.findall(r"\bfma\.", ptx)), len(re.findall(r"\.ftz", ptx)), wide)


def main():
    """The kernels for bfloat16 weights, and one with fusion switched on, which has to show."""
    common = {"IS_ALIGNED": True, "COUNTERS": triton_kernels.COUNTERS}
    member = {"OUT": 1, "BASE": 1, "KEEPS": False} | common
    for unit, rank in itertools.product((0, 1, 2), (0, 2)):
        ptx = assembly(triton_device.write_member, member | {"UNIT": unit, "RANK": rank})
        count(f"member-{unit}-{rank}", ptx)
        update = {"KIND": 1, "IS_RANDOM": True, "UNIT": unit, "RANK": rank} | common
        count(f"update-{unit}-{rank}", assembly(triton_device.add_directions, update))
    fused = assembly(triton_device.write_member, member | {"UNIT": 0, "RANK": 0}, is_fused=True)
    count("fused", fused)


if __name__ == "__main__":
    sys.exit(main())
