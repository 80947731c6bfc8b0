"""Write trained weights as the Hugging Face folder they came from."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from coevo.engines.checkpoint import INDEX_FILE, SINGLE_FILE, write_checkpoint
from coevo.engines.loading import ModelFolder

_CODES = {"float32": "F32", "uint16": "BF16", "float16": "F16"}


def export_folder(source: ModelFolder, target: Path, bases: Mapping[str, NDArray[Any]]) -> None:
    """Write a model folder: the weights in their exact type, and config, tokenizer and card as they were.

    Args:
        source: The folder the model was loaded from.
        target: Made if it does not exist.
        bases: Checkpoint name -> exact weights, all of one type (bfloat16 as its bits), in any shape.
    """
    target.mkdir(parents=True, exist_ok=True)
    for file in sorted(source.path.iterdir()):
        if file.is_file() and file.name != INDEX_FILE and file.suffix != ".safetensors":
            shutil.copyfile(file, target / file.name)
    shapes = {name: source.tensors[name].shape for name in bases}
    code = _CODES[next(iter(bases.values())).dtype.name]
    write_checkpoint(target / SINGLE_FILE, bases, shapes, code)
