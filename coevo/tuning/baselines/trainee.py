"""The model that learns, and the memory that serves it.

What learns is fp32, whatever the model is served in: steps of 1e-6 would be lost in 16 bits. What is served is the
decoder that the torch engine would take, in the type that it would take. So the same weights draw the same tokens, and
an answer does not tell which of the two engines it came from.
"""

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from coevo.block import Block
from coevo.engines.checkpoint import TensorInfo
from coevo.engines.decoding import Decoder
from coevo.engines.exporting import export_folder
from coevo.engines.lean_llama import LeanLlama
from coevo.engines.llama_shape import SMALL_MODEL, lean_shape
from coevo.engines.loading import ModelFolder
from coevo.engines.scope import names_in_scope
from coevo.engines.tokens import end_tokens, make_codec
from coevo.engines.torch_cells import host_view
from coevo.engines.torch_low_rank import LowRankLinears
from coevo.engines.torch_model import TransformersDecoder, choose_device, load_model, name_parameters

_LEAN_ROWS, _CPU_ROWS, _CUDA_ROWS = 24, 32, 64


class Trainee:
    """One model, twice: to learn and to be served.

    Args:
        folder: Where it comes from.
        scope: Which tensors learn, as of `WeightPolicy`, guided excepted.
        chat: Whether prompts go through its chat template.

    Attributes:
        folder: The same.
        model: The transformers model in fp32, in evaluation mode.
        learning: Canonical checkpoint name -> parameter that learns.
        decoder: What answers; serves the weights as of the last `publish`.
        codec: Of the model.
        ends: Tokens that end an answer.
        is_small: Whether the torch engine would serve it on one thread.

    Raises:
        ModelError: If it cannot be loaded.
        ConfigError: If the scope is empty.
    """

    def __init__(self, folder: ModelFolder, *, scope: str, chat: bool) -> None:
        self.folder = folder
        self.ends = end_tokens(folder)
        self.is_small = folder.num_parameters < SMALL_MODEL
        self._device = "cpu" if self.is_small else choose_device("auto")
        self.model = _in_fp32(load_model(folder, self._device))
        self._all = name_parameters(folder, self.model)
        moves = set(names_in_scope(scope, {name: folder.tensors[name].shape for name in self._all}))
        for name, parameter in self._all.items():
            parameter.requires_grad_(name in moves)
        self.learning = {name: parameter for name, parameter in self._all.items() if name in moves}
        self.codec = make_codec(folder, self.ends, chat=chat)
        self.decoder, self._served = self._serving()
        self.load(folder.tensors)

    def publish(self) -> None:
        """Serve what has been learned, rounded to the type that is served."""
        with torch.no_grad():
            for name, parameter in self._all.items():
                self._served[name].copy_(parameter.view_as(self._served[name]))

    def load(self, tensors: Mapping[str, TensorInfo]) -> None:
        """Take and serve other weights.

        Args:
            tensors: At least the model's; what else is there is left alone.
        """
        with torch.no_grad():
            for name, parameter in self._all.items():
                parameter.copy_(torch.from_numpy(tensors[name].read()).view(parameter.shape))
        self.publish()

    def fingerprint(self) -> int:
        """Fingerprint of the weights that are served."""
        from coevo.noise import fingerprint_part

        return sum(fingerprint_part(values, block) for block, values in self._blocks()) % 2**64

    def export(self, folder: Path) -> None:
        """Write the weights that are served as a model folder."""
        export_folder(self.folder, folder, {block.tensor: values for block, values in self._blocks()})

    def frozen_copy(self) -> Any:
        """The model as it is now, in memory of its own, without gradients."""
        return copy.deepcopy(self.model).requires_grad_(False)

    def _serving(self) -> tuple[Decoder, dict[str, Tensor]]:
        """A decoder and its memory by name; the choice is that of `coevo.engines.torch_worker.serve_model`."""
        shape = lean_shape(self.folder)
        if shape is not None and self._device == "cpu":
            lean = LeanLlama(shape, rows=_LEAN_ROWS)
            arrays = lean.arrays()
            return lean, {n: torch.from_numpy(arrays[n]).view(self.folder.tensors[n].shape) for n in self._all}
        model = load_model(self.folder, self._device)
        served = name_parameters(self.folder, model)
        rows = _CUDA_ROWS if self._device.startswith("cuda") else _CPU_ROWS
        decoder = TransformersDecoder(model, LowRankLinears(model, served, []), rows=rows, padding=self.ends[0])
        return decoder, served

    def _blocks(self) -> Iterator[tuple[Block, np.ndarray[Any, Any]]]:
        for name, served in self._served.items():
            block = Block.whole(name, self.folder.tensors[name].shape)
            yield block, host_view(served.detach().cpu().view(block.rows, block.cols))


def _in_fp32(model: Any) -> Any:
    for parameter in model.parameters():
        parameter.data = parameter.data.float()
    return model
