"""The noise on a CUDA device: equal bits, bandwidth, ratio to the torch chain, peak memory, captured graphs.

    python tests/benchmarks/gpu.py [--billions 1.0] [--repeats 20] [--json FILE]

One prepared script of a few minutes. It compares the Triton kernels with the host's bit by bit (P15), measures the
effective bandwidth (bytes read and written once, over time) of writing members of at least 1 B bfloat16 parameters,
the same for the chain of generator, randn, multiply and add, the peak memory of a 4 B-parameter set of tensors with
its backup on the host, and whether a captured graph sees weights that were written in place (P20). Without a CUDA
device it says so and ends with 1.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from coevo import noise
from coevo.block import Block
from coevo.interfaces import Member, Partition, Update

SHAPE = (4096, 16384)
MEMBER = Member(2**64 - 5, 2, 3, -1, 1e-3)
STAGE = 1 << 24
"""Elements copied from the host at once: 32 MiB of bfloat16."""


def host_bits(tensor: torch.Tensor) -> Any:
    """A tensor's bits on the host."""
    return (tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor).cpu().numpy()


def equal_bits(kernels: Any) -> dict[str, bool]:
    """P15: members, updates and fingerprints of every type and cut, on the device and on the host."""
    found = {}
    types = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
    cuts = {"whole": None, "element": Partition(3, "element"), "tile": Partition(3, "tile")}
    blocks = [Block.whole("w", (1000, 3001)), Block("w", (2**31, 4096), 2**30, 77, 300, 2000)]
    for kind, dtype in types.items():
        for cut, partition in cuts.items():
            for rank in (0, 4):
                same = all(_is_equal(kernels, block, dtype, partition, rank) for block in blocks)
                found[f"{kind}, {cut}, rank {rank}"] = same
    return found


def _is_equal(kernels: Any, block: Block, dtype: torch.dtype, partition: Partition | None, rank: int) -> bool:
    member = Member(MEMBER.run_key, 2, 3, -1, 1e-2, partition, 1 if partition else 0, rank)
    update = Update(5, 2, (0, 0, 1), (0.1, -0.2, 3e-5), partition, (0, 1, 1) if partition else (), rank)
    rule = "stochastic" if dtype == torch.bfloat16 else "nearest"
    values = torch.randn(block.rows, block.cols, generator=torch.Generator().manual_seed(1))
    values[:, ::9], values[:, 1::9], values[0, 2] = -0.0, 1e-40, 3.39e38
    device = values.to(dtype).cuda()
    words = host_bits(device)
    base = words.view(np.uint16) if dtype == torch.bfloat16 else words.copy()
    out, out_device = np.empty_like(base), torch.empty_like(device)
    noise.perturb(base, out, block, member)
    kernels.perturb(device, out_device, block, member)
    is_same = host_bits(out_device).tobytes() == out.tobytes()
    base = base.copy()
    noise.apply_update(base, block, update, rule)
    kernels.apply_update(device, block, update, rule)
    is_same &= host_bits(device).tobytes() == base.tobytes()
    return is_same and kernels.fingerprint_part(device, block) == noise.fingerprint_part(base, block)


def seconds(run: Callable[[], Any], repeats: int) -> list[float]:
    """Time of each call, by events on the device; the first two calls are not counted."""
    times = []
    for turn in range(repeats + 2):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        end.record()
        torch.cuda.synchronize()
        if turn > 1:
            times.append(start.elapsed_time(end) / 1e3)
    return times


def speed(kernels: Any, billions: float, repeats: int) -> dict[str, Any]:
    """Members of at least so many bfloat16 parameters, by kernel and by chain, in turns; updates of 30 members."""
    count = max(1, round(billions * 1e9 / (SHAPE[0] * SHAPE[1]) + 0.5))
    blocks = [Block.whole(f"model.layers.{layer}.weight", SHAPE) for layer in range(count)]
    base = [torch.full(SHAPE, 0.02, dtype=torch.bfloat16, device="cuda") for _ in blocks]
    out = [torch.empty_like(tensor) for tensor in base]
    size = sum(block.size for block in blocks)

    def own() -> None:
        for source, target, block in zip(base, out, blocks, strict=True):
            kernels.perturb(source, target, block, MEMBER)

    def chain() -> None:
        for tensor in out:
            generator = torch.Generator("cuda").manual_seed(7)
            drawn = torch.randn(tensor.shape, dtype=tensor.dtype, device="cuda", generator=generator)
            tensor.add_(MEMBER.sigma * drawn)

    update = Update(1, 2, tuple(range(30)), (1e-5,) * 30)
    times = {"member": seconds(own, repeats), "chain": seconds(chain, repeats)}
    times["update of 30, one tensor"] = seconds(
        lambda: kernels.apply_update(out[0], blocks[0], update, "stochastic"), 5
    )
    median = {name: statistics.median(values) for name, values in times.items()}
    return {
        "parameters": size,
        "member TB/s": 4 * size / median["member"] / 1e12,
        "member TB/s range": [4 * size / edge / 1e12 for edge in (max(times["member"]), min(times["member"]))],
        "chain over member": median["chain"] / median["member"],
        "update G normals/s": 30 * blocks[0].size / median["update of 30, one tensor"] / 1e9,
    }


def peak_memory(kernels: Any, billions: float) -> dict[str, float]:
    """Peak of serving members of a model whose base lies on the host, over the weights alone."""
    count = round(billions * 1e9 / (SHAPE[0] * SHAPE[1]))
    blocks = [Block.whole(f"model.layers.{layer}.weight", SHAPE) for layer in range(count)]
    served = [torch.empty(SHAPE, dtype=torch.bfloat16, device="cuda") for _ in blocks]
    backup = torch.full(SHAPE, 0.02, dtype=torch.bfloat16, pin_memory=True)
    alone = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    rows = STAGE // SHAPE[1]
    for tensor, block in zip(served, blocks, strict=True):
        for piece, down, _ in block.pieces(STAGE):
            assert piece.rows <= rows
            tensor[down].copy_(backup[down], non_blocking=True)
            kernels.perturb(tensor[down], tensor[down], piece, MEMBER)
    torch.cuda.synchronize()
    peak = torch.cuda.max_memory_allocated()
    return {"parameters": count * SHAPE[0] * SHAPE[1], "weights GB": alone / 1e9, "peak over weights": peak / alone}


def graphs_see_writes(kernels: Any) -> bool:
    """P20: a captured graph answers with the weights that were written in place after its capture."""
    block = Block.whole("w", (256, 256))
    base = torch.randn(256, 256, device="cuda").bfloat16()
    served, row = base.clone(), torch.ones(1, 256, device="cuda", dtype=torch.bfloat16)
    for _ in range(2):
        row @ served
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        answer = row @ served
    kernels.perturb(base, served, block, Member(1, 2, 3, 1, 0.5))
    graph.replay()
    torch.cuda.synchronize()
    return torch.equal(answer, row @ served) and not torch.equal(answer, row @ base)


def verdicts(result: dict[str, Any]) -> list[str]:
    """The targets, one row each."""
    rows = [
        ("every bit equal", all(result["bits"].values()), sum(result["bits"].values())),
        ("graphs see writes", result["graph"], result["graph"]),
        ("at least 1.6 TB/s", result["speed"]["member TB/s"] >= 1.6, f"{result['speed']['member TB/s']:.2f}"),
        (
            "at least 3 x the chain",
            result["speed"]["chain over member"] >= 3,
            f"{result['speed']['chain over member']:.1f}",
        ),
        (
            "peak at most 1.05 x",
            result["memory"]["peak over weights"] <= 1.05,
            f"{result['memory']['peak over weights']:.3f}",
        ),
    ]
    return [f"| {target} | {value} | {'yes' if is_met else 'NO'} |" for target, is_met, value in rows]


def main() -> int:
    """Measure, print JSON and a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--billions", type=float, default=1.0)
    parser.add_argument("--memory-billions", type=float, default=4.0)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("no CUDA device on this machine: nothing was measured")
        return 1
    from coevo.noise import triton_kernels

    start = time.monotonic()
    device = torch.cuda.get_device_properties(0)
    result: dict[str, Any] = {
        "machine": f"{device.name}, {device.total_memory / 2**30:.0f} GiB, torch {torch.__version__}",
        "bits": equal_bits(triton_kernels),
        "graph": graphs_see_writes(triton_kernels),
        "speed": speed(triton_kernels, options.billions, options.repeats),
    }
    torch.cuda.empty_cache()
    result["memory"] = peak_memory(triton_kernels, options.memory_billions)
    result["seconds"] = round(time.monotonic() - start, 1)
    text = json.dumps(result, indent=2)
    if options.json is not None:
        options.json.write_text(text + "\n")
    print(text)
    print(f"\n{result['machine']}\n\n| target | measured | met |\n|---|---|---|", *verdicts(result), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
