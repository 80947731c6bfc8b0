"""Replay a history: the weights that a list of updates leads to, computed here from the shipped model.

No workers and no generation: an independent way to the same bits, for checking that a recorded history gives the
weights a run reported.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coevo.engines.llama_shape import lean_shape
from coevo.engines.loading import ModelFolder, inspect_folder
from coevo.engines.parameters import ArrayStore, Weights
from coevo.interfaces import Update

FloatArray = NDArray[np.float32]


def replay(model_folder: Path, updates: Iterable[Update]) -> tuple[int, dict[str, FloatArray]]:
    """Apply updates in order to the weights of a model folder.

    Args:
        model_folder: The model the run began with.
        updates: The run's committed updates, oldest first.

    Returns:
        The fingerprint, and checkpoint name -> fp32 tensor in the checkpoint's shape.

    Raises:
        ModelError: If the folder cannot be served.
    """
    folder = inspect_folder(model_folder)
    base = {name: folder.tensors[name].read() for name in _names(folder)}
    weights = Weights(base, ArrayStore({name: np.empty_like(array) for name, array in base.items()}))
    for update in updates:
        weights.commit(update)
    fingerprint = weights.fingerprint()
    return fingerprint, {name: array.reshape(folder.tensors[name].shape) for name, array in base.items()}


def _names(folder: ModelFolder) -> list[str]:
    shape = lean_shape(folder)
    if shape is not None:
        return list(shape.tensors())
    from coevo.engines.torch_model import parameter_names

    return parameter_names(folder)
