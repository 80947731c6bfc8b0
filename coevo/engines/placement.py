"""Which devices each of several engines on this machine gets: a share of its own of those that coevo may see."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from itertools import takewhile

from coevo.errors import ConfigError

VISIBLE = "CUDA_VISIBLE_DEVICES"
"""The variable by which CUDA is told which devices a process may use: numbers, or names such as GPU-8c1f…"""

_ASK = ("nvidia-smi", "--query-gpu=index", "--format=csv,noheader")
_PATIENCE_S = 20.0


def visible_devices(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The GPUs that this process may use, as CUDA's variable names them; none on a machine without.

    Without the variable, the driver's own tool is asked; neither needs torch in this process.

    Args:
        environment: Where the variable is looked for.
    """
    named = environment.get(VISIBLE)
    if named is not None:
        # CUDA reads the list up to the first entry that names no device, and users write -1 for none.
        return tuple(takewhile(_is_device, (entry.strip() for entry in named.split(","))))
    try:
        told = subprocess.run(
            _ASK, capture_output=True, text=True, timeout=_PATIENCE_S, stdin=subprocess.DEVNULL, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(line.strip() for line in told.stdout.splitlines() if line.strip().isdecimal())


def share_devices(visible: Sequence[str], engines: int, each: int) -> tuple[tuple[str, ...], ...]:
    """The devices of each engine, in order: neighbours together, none with two engines.

    Args:
        visible: Names of all the devices there are.
        engines: How many engines share them.
        each: Devices that one engine needs.

    Returns:
        `engines` tuples of `each` names; empty tuples where there is no device at all, as on a machine without GPUs.

    Raises:
        ConfigError: If there are some, and too few.
    """
    if not visible:
        return ((),) * engines
    if len(visible) < engines * each:
        raise ConfigError(_too_few(visible, engines, each))
    return tuple(tuple(visible[place * each : (place + 1) * each]) for place in range(engines))


def environment_of(devices: Sequence[str]) -> dict[str, str]:
    """What an engine's own processes are started with, so that they see these devices alone; no devices, no change."""
    return {VISIBLE: ",".join(devices)} if devices else {}


def _is_device(entry: str) -> bool:
    return bool(entry) and not entry.startswith("-") and entry != "NoDevFiles"


def _too_few(visible: Sequence[str], engines: int, each: int) -> str:
    if each == 1:
        ways = f"take --engines {len(visible)}"
    elif len(visible) >= each:
        ways = f"take --engines {len(visible) // each}, or --tensor-parallel {max(1, len(visible) // engines)}"
    else:
        ways = f"take --engines 1 and --tensor-parallel {len(visible)}"
    return (
        f"expected a GPU of its own for each part of {engines} engines × {each} parts, {engines * each} in all, got "
        f"{len(visible)} ({', '.join(visible)}); {ways}, or set {VISIBLE}= to compute on the CPU"
    )
