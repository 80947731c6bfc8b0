"""Memory of the torch engine on the CPU, in bytes per parameter, for every update rule and restore mode.

    python tests/benchmarks/memory.py [--width 1024] [--layers 20] [--tokens 64] [--members 4]
        [--cases NAME …]

A random Qwen2 in bfloat16 (the defaults have 0.36 B parameters) is served by one worker on transformers; members
answer, so that every buffer that ever exists has been made. Memory is that of the worker process in the middle of its
work, less that of a worker which serves a model of 0.5 M parameters: anonymous memory stays, memory backed by a file
(the checkpoint, a mapped base) can be dropped by the system at any time. The peak, which includes loading, is the
kernel's high-water mark of both together. The table is Markdown.
"""

import argparse
import platform
import tempfile
from importlib.metadata import version
from pathlib import Path

from random_models import write_qwen2

from coevo.engines.policy import WeightPolicy
from coevo.engines.torch_engine import TorchEngine
from coevo.interfaces import Member, Partition, Request, Sampling

CASES = [
    ("frozen", WeightPolicy(update_rule="nearest", restore="tiles"), None, 0),
    ("master, copy", WeightPolicy(), None, 1),
    ("master, mapped", WeightPolicy(restore="mapped"), None, 1),
    ("stochastic, copy", WeightPolicy(update_rule="stochastic"), None, 1),
    ("stochastic, mapped", WeightPolicy(update_rule="stochastic", restore="mapped"), None, 1),
    ("stochastic, tiles, K = 4", WeightPolicy(update_rule="stochastic", restore="tiles"), Partition(4, "tile"), 1),
    ("stochastic, tiles, K = 8", WeightPolicy(update_rule="stochastic", restore="tiles"), Partition(8, "tile"), 1),
]


def memory_of(pid: int) -> dict[str, int]:
    """Bytes of a process: anonymous, backed by files, and the peak of all resident memory."""
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    kib = {name: int(lines[name].split()[0]) for name in ("RssAnon", "RssFile", "RssShmem", "VmHWM")}
    return {
        "anonymous": 1024 * kib["RssAnon"],
        "file": 1024 * (kib["RssFile"] + kib["RssShmem"]),
        "peak": 1024 * kib["VmHWM"],
    }


def measure(folder: Path, case: tuple[str, WeightPolicy, Partition | None, int], options: argparse.Namespace):
    """Memory of the worker at its work."""
    _, policy, partition, moves = case
    sampling = Sampling(max_tokens=options.tokens)
    members = [
        Member(1, 0, n, 1, 1e-3, partition, n % (partition.count if partition else 1)) for n in range(options.members)
    ]
    requests = [
        Request(f"{n}", "tour of the cities", n, members[n] if moves else None, sampling)
        for n in range(options.members)
    ]
    with TorchEngine(folder, workers=1, chat=False, device="cpu", policy=policy) as engine:
        answers = engine.generate(requests)
        next(answers)
        found = memory_of(engine.worker_pids[0])
        for _ in answers:
            later = memory_of(engine.worker_pids[0])
            found = {key: max(value, later[key]) for key, value in found.items()}
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--layers", type=int, default=20)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--members", type=int, default=4)
    parser.add_argument("--cases", nargs="+", choices=[case[0] for case in CASES], help="all, if left out")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        small, large = Path(name) / "small", Path(name) / "large"
        write_qwen2(small, width=64, layers=2, vocabulary=4096)
        size = write_qwen2(large, width=options.width, layers=options.layers)
        versions = ", ".join(f"{package} {version(package)}" for package in ("torch", "transformers", "numpy"))
        print(f"{size / 1e9:.3f} B parameters, bfloat16; Python {platform.python_version()}, {versions}\n")
        print("| rule, restore mode | anonymous B/parameter | file-backed B/parameter | peak B/parameter |")
        print("|---|---|---|---|")
        for case in (case for case in CASES if not options.cases or case[0] in options.cases):
            floor, found = measure(small, case, options), measure(large, case, options)
            cells = (f"{(found[key] - floor[key]) / size:.2f}" for key in ("anonymous", "file", "peak"))
            print(f"| {case[0]} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
