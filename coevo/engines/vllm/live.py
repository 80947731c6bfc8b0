"""Keep vLLM's weights on the CPU alive: what is served has to be what the parameters hold.

On the CPU vLLM packs dense layers into a form of its own after loading, computes from the packed copy and drops the
parameter, or keeps one that no longer counts (and so unties a tied head). Weights that move would not be served. Before
a model is loaded the packing is replaced by a plain product with the parameter; afterwards it is checked that every
layer uses it. What is not there in some version of vLLM is left alone: the checks afterwards find what that leads to.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import torch

from coevo.errors import ModelError

_PACKING = "dispatch_cpu_unquantized_gemm"


def keep_weights_live() -> None:
    """Turn packing off in this process, on the CPU alone. Has to run before vLLM loads a model."""
    if not import_module("vllm.platforms").current_platform.is_cpu():
        return
    _replace("vllm._custom_ops", "_supports_onednn", False)
    _replace("vllm.model_executor.layers.utils", "check_cpu_sgl_kernel", _never)
    _replace("vllm.model_executor.layers.utils", _PACKING, _serve_parameter)


def require_live(model: torch.nn.Module) -> None:
    """Check a loaded model.

    Raises:
        ModelError: Naming a layer that computes from a packed copy.
    """
    for name, module in model.named_modules():
        product = getattr(module, "cpu_linear", None)
        if product is not None and product is not torch.nn.functional.linear:
            raise ModelError(
                f"expected the layer {name!r} to compute with its parameters, but vLLM has packed them into a copy; "
                "this version of vLLM cannot be served with moving weights on the CPU, use the engine 'torch'"
            )


@contextmanager
def without_adapters(model: torch.nn.Module) -> Iterator[None]:
    """Put the layers that vLLM has wrapped for adapters back in their places, for the time of the context.

    The model's own loader does not know wrapped layers, and its parameters have other names in them.
    """
    wrapped: list[tuple[torch.nn.Module, str, Any]] = [
        (parent, name, child)
        for parent in list(model.modules())
        for name, child in parent._modules.items()
        if child is not None and isinstance(getattr(child, "base_layer", None), torch.nn.Module)
    ]
    try:
        for parent, name, child in wrapped:
            parent._modules[name] = child.base_layer
        yield
    finally:
        for parent, name, child in wrapped:
            parent._modules[name] = child


def _replace(module: str, attribute: str, value: Any) -> None:
    """Set an attribute where it is defined and wherever it has been imported by name already."""
    try:
        original = getattr(import_module(module), attribute)
    except (ImportError, AttributeError):
        return
    setattr(import_module(module), attribute, value)
    if not callable(original):
        return
    for name, loaded in list(sys.modules.items()):
        if name.startswith("vllm.") and loaded is not None and vars(loaded).get(attribute) is original:
            setattr(loaded, attribute, value)


def _never(*_: Any, **__: Any) -> bool:
    return False


def _serve_parameter(layer: Any, *_: Any, **__: Any) -> None:
    layer.cpu_linear = torch.nn.functional.linear
