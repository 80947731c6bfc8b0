"""GPUs: what torch can use, and the driver beneath it."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coevo.experiments.doctor.finding import Finding, passed, warned

NAME = "gpu"
_LOOK_S = 180
_LOOK = """
import json, torch
devices = []
if torch.cuda.is_available():
    for number in range(torch.cuda.device_count()):
        free, total = torch.cuda.mem_get_info(number)
        devices.append([torch.cuda.get_device_name(number), total, free])
print(json.dumps({"torch": torch.__version__, "cuda": torch.version.cuda or torch.version.hip, "devices": devices}))
"""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One device, with its memory in bytes."""

    name: str
    total_bytes: int
    free_bytes: int


@dataclass(frozen=True, slots=True)
class Accelerators:
    """What torch sees.

    Attributes:
        torch: Its version.
        cuda: The version of CUDA or ROCm that it was built for; empty for a build without.
        gpus: Devices that it can use.
        driver: Version of the NVIDIA driver; empty without one.
    """

    torch: str
    cuda: str
    gpus: tuple[Gpu, ...]
    driver: str


def look_for_gpus(command: Sequence[str] = (sys.executable, "-P", "-c", _LOOK)) -> Accelerators:
    """Ask torch in a process of its own, since whoever looks keeps memory of each device.

    Raises:
        RuntimeError: If torch fails over it, with the last line that it wrote.
        subprocess.TimeoutExpired: If it does not come back.
    """
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_LOOK_S, check=False
    )
    if done.returncode != 0:
        words = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise RuntimeError(f"torch fails when it looks for GPUs: {words[-1]}")
    seen = json.loads(done.stdout.splitlines()[-1])
    gpus = tuple(Gpu(*device) for device in seen["devices"])
    return Accelerators(seen["torch"], seen["cuda"] or "", gpus, driver_version())


def driver_version(file: Path = Path("/proc/driver/nvidia/version")) -> str:
    """Version of the loaded NVIDIA driver; empty without one."""
    try:
        words = file.read_text().partition("\n")[0].split()
    except OSError:
        return ""
    return next((word for word in words if word[0].isdigit() and "." in word), "of unknown version")


def gpu(seen: Accelerators) -> Finding:
    """Devices with name, memory and driver; that there is none is worth a warning and breaks nothing."""
    if seen.gpus:
        names = "; ".join(
            f"{each.name}, {each.total_bytes / 1e9:.0f} GB ({each.free_bytes / 1e9:.0f} GB free)" for each in seen.gpus
        )
        driver = f", driver {seen.driver}" if seen.driver else ""
        return passed(NAME, f"{names}{driver}, torch {seen.torch}")
    if seen.driver:
        return warned(
            NAME,
            f"NVIDIA driver {seen.driver} is loaded, but torch {seen.torch} can use no GPU",
            "install a build of torch for this driver's CUDA, and check CUDA_VISIBLE_DEVICES",
        )
    return warned(
        NAME,
        f"none (torch {seen.torch})",
        "nothing for the embedded models, which are served by processor cores; larger models will be slow",
    )
