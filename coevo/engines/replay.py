"""Replay a history: the weights that a list of updates leads to, computed here from the model a run began with.

No workers and no generation: an independent way to the same bits, for checking that a recorded history gives the
weights a run reported, whatever engine recorded it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coevo.engines.cells import whole_cells
from coevo.engines.guiding import load_guide
from coevo.engines.llama_shape import lean_shape
from coevo.engines.loading import ModelFolder, inspect_folder
from coevo.engines.policy import WeightPolicy
from coevo.engines.storage import STORAGE, exact_storage
from coevo.engines.weights import Weights
from coevo.interfaces import Update

if TYPE_CHECKING:
    from coevo.noise.basis import Basis


@dataclass(frozen=True)
class ReplayedWeights:
    """Weights that are moved along a history, update by update.

    Attributes:
        folder: The model they began with.
        policy: Scope and update rule.
        weights: Their state.
        basis: What guided updates move in.
    """

    folder: ModelFolder
    policy: WeightPolicy
    weights: Weights
    basis: "Basis | None" = None

    def follow(self, updates: Iterable[Update]) -> Iterator[int]:
        """Apply updates in order; yields the fingerprint after each."""
        for update in updates:
            self.weights.commit(update)
            yield self.weights.fingerprint()

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Checkpoint name -> exact weights in the checkpoint's shape (bfloat16 as its bits)."""
        bases = ((block.tensor, base) for block, base in self.weights.bases())
        return {name: base.reshape(self.folder.tensors[name].shape) for name, base in bases}


def open_weights(model_folder: Path, policy: WeightPolicy | None = None, threads: int = 1) -> ReplayedWeights:
    """The weights of a model folder, ready to be moved.

    Only their exact type is kept: what an engine serves besides is not needed.

    Args:
        model_folder: The model the run began with.
        policy: Scope, basis and update rule of the run; the restore mode is the replay's own.
        threads: Threads that share the work.

    Raises:
        ModelError: If the folder cannot be served.
        ConfigError: If the scope is empty.
    """
    folder, policy = inspect_folder(model_folder), policy or WeightPolicy()
    exact = STORAGE[exact_storage(folder.dtype, policy.update_rule)]
    arrays = {name: np.empty(folder.tensors[name].size, exact) for name in checkpoint_names(folder)}
    alone, basis = policy.model_copy(update={"restore": "tiles"}), load_guide(policy, folder, arrays)
    cells = whole_cells(arrays, folder.tensors, alone, basis)
    return ReplayedWeights(folder, alone, Weights(cells, threads), basis)


def replay(model_folder: Path, updates: Iterable[Update], policy: WeightPolicy | None = None) -> ReplayedWeights:
    """Apply updates in order to the weights of a model folder.

    Args:
        model_folder: The model the run began with.
        updates: The run's committed updates, oldest first.
        policy: Scope and update rule of the run.

    Raises:
        ModelError: If the folder cannot be served.
        ConfigError: If the scope is empty.
    """
    replayed = open_weights(model_folder, policy)
    for update in updates:
        replayed.weights.commit(update)
    return replayed


def checkpoint_names(folder: ModelFolder) -> list[str]:
    """The checkpoint tensors that engines serve, in their order; a tied tensor once."""
    shape = lean_shape(folder)
    if shape is not None:
        return list(shape.tensors())
    from coevo.engines.torch_model import parameter_names

    return parameter_names(folder)
