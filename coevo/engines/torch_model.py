"""Any causal language model of transformers as a decoder, and its parameters by their checkpoint names.

The general path: slower than the lean decoder, but for every architecture whose parameters are its checkpoint's
tensors. Prompts are padded on the left to one length, so which rows share a batch can change the last bits of the
logits; the same requests in the same groups always give the same tokens.
"""

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from coevo.engines.loading import ModelFolder
from coevo.engines.naming import match_names
from coevo.engines.torch_cells import contiguous
from coevo.engines.torch_low_rank import LowRankLinears
from coevo.errors import ModelError, one_line
from coevo.interfaces import Member

FloatArray = NDArray[np.float32]

_UNBOUNDED = 1 << 30


class TransformersDecoder:
    """The decoder; see `coevo.engines.decoding.Decoder`."""

    refills = False

    def __init__(self, model: Any, linears: LowRankLinears, *, rows: int, padding: int) -> None:
        self.rows = rows
        text = model.config.get_text_config()
        self.context = int(getattr(text, "max_position_embeddings", None) or _UNBOUNDED)
        self._model = model
        self._linears = linears
        self._padding = padding
        accepted = inspect.signature(model.forward).parameters
        self._cache_name = "cache" if "cache" in accepted else "past_key_values"
        self._last_only = {"logits_to_keep": 1} if "logits_to_keep" in accepted else {}
        self._cache: Any = None
        self._mask = torch.empty(0)
        self._positions = torch.empty(0)

    @torch.inference_mode()
    def admit(self, prompts: Sequence[Sequence[int]], members: Sequence[Member | None] = ()) -> FloatArray:
        """See `Decoder`."""
        from transformers import DynamicCache

        self._linears.set_rows(members)
        longest = max(map(len, prompts))
        padded = [[self._padding] * (longest - len(prompt)) + list(prompt) for prompt in prompts]
        real = [[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts]
        self._mask = torch.tensor(real, device=self._model.device)
        positions = (self._mask.cumsum(-1) - 1).clamp(min=0)
        self._positions = positions[:, -1:] + 1
        self._cache = DynamicCache()
        return self._forward(torch.tensor(padded, device=self._model.device), positions)

    @torch.inference_mode()
    def step(self, tokens: Sequence[int]) -> FloatArray:
        """See `Decoder`."""
        self._mask = torch.cat([self._mask, self._mask.new_ones(len(tokens), 1)], -1)
        logits = self._forward(torch.tensor(tokens, device=self._model.device)[:, None], self._positions)
        self._positions = self._positions + 1
        return logits

    @torch.inference_mode()
    def keep(self, rows: Sequence[int]) -> None:
        """See `Decoder`."""
        self._linears.keep(rows)
        if not rows:
            self._cache = None
            return
        chosen = torch.tensor(rows, device=self._model.device)
        self._cache.batch_select_indices(chosen)
        self._mask, self._positions = self._mask[chosen], self._positions[chosen]

    def _forward(self, tokens: Tensor, positions: Tensor) -> FloatArray:
        output = self._model(
            input_ids=tokens,
            attention_mask=self._mask,
            position_ids=positions,
            use_cache=True,
            **{self._cache_name: self._cache},
            **self._last_only,
        )
        logits: FloatArray = output.logits[:, -1].float().cpu().numpy()
        return logits


def load_model(folder: ModelFolder, device: str) -> Any:
    """The transformers model, in the type it is served in, in evaluation mode.

    Raises:
        ModelError: If transformers cannot load it.
    """
    from transformers import AutoModelForCausalLM

    try:
        model = AutoModelForCausalLM.from_pretrained(
            folder.path, local_files_only=True, trust_remote_code=False, use_safetensors=True
        )
    except (ImportError, OSError, RuntimeError, TypeError, ValueError, KeyError, AttributeError) as error:
        raise _unloadable(folder, error) from error
    for parameter in model.parameters():
        # Buffers stay as they are: rotary frequencies in 16 bits would not be the model's.
        parameter.data = parameter.data.to(getattr(torch, folder.dtype))
    model = model.to(device=device).eval()
    contiguous(list(model.parameters()))
    return model


def name_parameters(folder: ModelFolder, model: Any) -> dict[str, Tensor]:
    """Canonical checkpoint name -> parameter, tied ones once; refuses a model whose checkpoint it does not cover."""
    parameters = dict(model.named_parameters())
    shapes = {name: tuple(tensor.shape) for name, tensor in parameters.items()}
    tensors = {name: info.shape for name, info in folder.tensors.items()}
    try:
        pairs = match_names(shapes, tensors, prefix=model.base_model_prefix, ignorable=_ignorable(model))
    except ModelError as error:
        raise ModelError(f"{folder.path}: {error}") from error
    return {canonical: parameters[name] for name, canonical in pairs.items()}


def parameter_names(folder: ModelFolder) -> list[str]:
    """Canonical names in the order the engine serves them, from a model without memory."""
    from transformers import AutoConfig, AutoModelForCausalLM

    try:
        config = AutoConfig.from_pretrained(folder.path, local_files_only=True, trust_remote_code=False)
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(config, trust_remote_code=False)
    except (ImportError, OSError, RuntimeError, TypeError, ValueError, KeyError, AttributeError) as error:
        raise _unloadable(folder, error) from error
    model.tie_weights()
    return list(name_parameters(folder, model))


def choose_device(device: str) -> str:
    """What "auto" stands for, "cuda" where there is one and otherwise "cpu"; any other name as it is."""
    if device != "auto":
        return device
    return "cuda" if torch.cuda.is_available() else "cpu"


def _ignorable(model: Any) -> list[str]:
    """Patterns of checkpoint names that are no parameters of their own: tied names, buffers, known leftovers."""
    import re

    tied = {name for name, _ in model.named_parameters(remove_duplicate=False)} - dict(model.named_parameters()).keys()
    buffers = {name for name, _ in model.named_buffers()}
    prefix = f"{model.base_model_prefix}."
    names = {*tied, *buffers, *(name.removeprefix(prefix) for name in buffers)}
    return [*(f"^{re.escape(name)}$" for name in names), *(model._keys_to_ignore_on_load_unexpected or ())]


def _unloadable(folder: ModelFolder, error: BaseException) -> ModelError:
    return ModelError(
        f"expected a causal language model that transformers can load in {folder.path}, got "
        f"{type(error).__name__}: {one_line(error, 300)}; name another model"
    )
