"""Memory: what the model, its exact base and the judges would take, against what there is."""

from dataclasses import dataclass
from pathlib import Path

from coevo.engines.inspection import Inspection, MemoryNeed
from coevo.engines.llama_shape import SMALL_MODEL
from coevo.engines.policy import Restore
from coevo.experiments.doctor.finding import Finding, failed, passed, warned
from coevo.experiments.doctor.gpu import Gpu
from coevo.learning.choice import ModelChoice

NAME = "memory"
JUDGE_BYTES = 150 << 20
"""One judge with its sandbox, before a candidate runs: 130 MB were measured on tsp, more where Numba is used."""
OVERHEAD_BYTES = {"lean decoder": 250 << 20, "transformers": 900 << 20, "vllm": 4 << 30}
"""One engine process beside its weights: interpreter, libraries, caches of keys and values. 200 MB were measured for
the lean decoder; for vLLM on the CPU a GiB of cache is included."""
TIGHT = 0.8
"""Share of the memory there is, beyond which a run is close to the edge."""


@dataclass(frozen=True, slots=True)
class Room:
    """What there is, in bytes.

    Attributes:
        host: Memory that can be had without swapping.
        gpus: Devices that could hold the weights.
    """

    host: int
    gpus: tuple[Gpu, ...] = ()


@dataclass(frozen=True, slots=True)
class Copies:
    """How a model would lie in memory.

    Attributes:
        each: Weights and backup of one copy under the run's update rule and restore mode.
        number: Copies, of one process each.
        overhead: What each process takes besides, in bytes.
        on_gpu: Whether the served weights would lie on a device.
    """

    each: MemoryNeed
    number: int
    overhead: int
    on_gpu: bool


def host_bytes(file: Path = Path("/proc/meminfo"), bound: int | None = None) -> int:
    """Memory that can be had without swapping, within the bound of a control group."""
    lines = dict(line.split(":", 1) for line in file.read_text().splitlines() if ":" in line)
    free = int(lines["MemAvailable"].split()[0]) << 10
    return free if bound is None else min(free, bound)


def copies_of(facts: Inspection, choice: ModelChoice, gpus: tuple[Gpu, ...]) -> Copies:
    """How the model of a run would lie in memory.

    Args:
        facts: The model, inspected under the run's scope and subspaces.
        choice: How it is served.
        gpus: Devices there are.
    """
    is_small = facts.num_parameters < SMALL_MODEL and choice.engine != "vllm"
    on_gpu = bool(gpus) and not is_small
    mode: Restore = choice.weights.restore
    if mode == "auto":
        mode = "copy"
    each = next(need for need in facts.memory if (need.rule, need.restore) == (choice.weights.update_rule, mode))
    overhead = OVERHEAD_BYTES["vllm" if choice.engine == "vllm" else facts.served_by]
    return Copies(each, choice.workers if is_small else 1, overhead, on_gpu)


def memory(copies: Copies, judges: int, room: Room) -> Finding:
    """What a run would take against what there is.

    Args:
        copies: How the model would lie in memory.
        judges: Evaluating processes.
        room: What there is.
    """
    beside = copies.number * copies.overhead + judges * JUDGE_BYTES
    weights, backup = copies.each.weights, copies.each.backup or 0
    if not copies.on_gpu:
        wanted = copies.number * (weights + backup) + beside
        what = f"{copies.number} × ({_size(weights)} of weights + {_size(backup)} of exact base)"
        return _compared(f"{what} + {_size(beside)} of processes", wanted, room.host, "available")
    device = max(gpu.free_bytes for gpu in room.gpus)
    if weights + backup <= TIGHT * device:
        return _compared(
            f"{_size(weights)} of weights + {_size(backup)} of exact base", weights + backup, device, "on GPU"
        )
    if weights <= TIGHT * device:
        found = _compared(f"{_size(backup)} of exact base + {_size(beside)}", backup + beside, room.host, "on the host")
        return (
            found if found.state == "fail" else passed(NAME, f"{found.found}; {_size(weights)} of weights on the GPU")
        )
    return _compared(f"{_size(weights)} of weights", weights, device, "on the largest GPU")


def frozen_memory(judges: int, room: Room) -> Finding:
    """The same for a run without weights of its own."""
    return _compared("judges alone, no weights here", judges * JUDGE_BYTES, room.host, "available")


def _compared(what: str, wanted: int, free: int, where: str) -> Finding:
    found = f"about {_size(wanted)} wanted ({what}), {_size(free)} {where}"
    if wanted > free:
        return failed(NAME, found, _ADVICE)
    return warned(NAME, found, _ADVICE) if wanted > TIGHT * free else passed(NAME, found)


_ADVICE = (
    "pass fewer --workers, or --restore mapped (a scratch file), or --subspaces K --subspace-unit tile with --restore "
    "tiles; coevo model inspect MODEL shows what each takes"
)


def _size(number: int) -> str:
    if number < 1e9:
        return f"{number / 1e6:.1f} MB" if number < 1e7 else f"{number / 1e6:.0f} MB"
    return f"{number / 1e9:.1f} GB"
