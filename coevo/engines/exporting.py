"""Write trained weights as the Hugging Face folder they came from."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from coevo.engines.checkpoint import SINGLE_FILE, write_checkpoint
from coevo.engines.loading import ModelFolder

_WEIGHTS = {".safetensors", ".bin", ".pt", ".pth", ".h5", ".msgpack", ".gguf", ".onnx", ".ot", ".npz", ".pkl"}
"""Suffixes of files that would still hold the weights of before."""


def export_folder(source: ModelFolder, target: Path, bases: Mapping[str, NDArray[Any]]) -> None:
    """Write a model folder: the weights in their exact type, and config, tokenizer and card as they were.

    Args:
        source: The folder the model was loaded from.
        target: Made if it does not exist.
        bases: Checkpoint name -> exact weights, all of one type (bfloat16 as its bits), in any shape.
    """
    target.mkdir(parents=True, exist_ok=True)
    for file in sorted(source.path.iterdir()):
        if file.is_file() and file.suffix not in _WEIGHTS and not file.name.endswith(".index.json"):
            shutil.copyfile(file, target / file.name)
    shapes = {name: source.tensors[name].shape for name in bases}
    write_checkpoint(target / SINGLE_FILE, bases, shapes)
