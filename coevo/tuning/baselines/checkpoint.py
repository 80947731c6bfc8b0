"""Where a baseline has come to, on disk: gradients cannot be repeated from a history, so weights are saved.

`gradient/` of the run directory holds `at-<generation>/` (fp32 weights and optimiser state as safetensors, and what the
log says of that generation), `best/` (a model folder of the weights that `val` chose) and the turns being played.
"""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.engines.checkpoint import SINGLE_FILE, TensorInfo, read_headers, write_checkpoint
from coevo.errors import RunError
from coevo.records.files import write_json

_AT = "at-"
_FACTS = "generation.json"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One that was found.

    Attributes:
        generation: After which it was written.
        facts: What the log says, or would have said, of that generation.
        tensors: By name.
    """

    generation: int
    facts: dict[str, Any]
    tensors: dict[str, TensorInfo]


def save(folder: Path, generation: int, facts: dict[str, Any], arrays: dict[str, NDArray[np.float32]]) -> None:
    """Write a checkpoint; a crash leaves it whole or not there. Earlier ones are removed after it is."""
    temporary = folder / f".{_AT}{generation}"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    write_checkpoint(temporary / SINGLE_FILE, arrays, {name: array.shape for name, array in arrays.items()})
    write_json(temporary / _FACTS, facts)
    earlier = _found(folder)
    temporary.replace(folder / f"{_AT}{generation}")
    for number in earlier:
        shutil.rmtree(folder / f"{_AT}{number}")


def latest(folder: Path) -> Checkpoint | None:
    """The last checkpoint of a run, or None.

    Raises:
        RunError: If its facts do not parse.
        ModelError: If its tensors do not.
    """
    numbers = _found(folder)
    if not numbers:
        return None
    path = folder / f"{_AT}{max(numbers)}"
    try:
        facts = json.loads((path / _FACTS).read_text())
    except (OSError, ValueError) as error:
        raise RunError(f"expected what was learned in {path / _FACTS}, cannot read it: {error}") from error
    return Checkpoint(max(numbers), facts, read_headers(path))


def _found(folder: Path) -> list[int]:
    return [int(path.name.removeprefix(_AT)) for path in folder.glob(f"{_AT}*")]
