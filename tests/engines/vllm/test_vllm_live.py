"""Turning vLLM's packing off and checking that it is off, on stand-ins for vLLM's modules."""

import sys
from types import ModuleType, SimpleNamespace

import pytest
import torch

from coevo.engines.vllm.live import keep_weights_live, require_live, without_adapters
from coevo.errors import ModelError

OPS, UTILS, USER = "vllm._custom_ops", "vllm.model_executor.layers.utils", "vllm.model_executor.layers.linear"


def pack(layer, remove_weight):
    """What vLLM does to a layer on the CPU: compute from a copy, drop the parameter."""
    copy = layer.weight.detach().clone()
    layer.cpu_linear = lambda x, weight, bias: torch.nn.functional.linear(x, copy, bias)
    if remove_weight:
        layer.weight = torch.nn.Parameter(torch.empty(0))


@pytest.fixture
def vllm(monkeypatch):
    """Makes stand-ins for vLLM's modules, with or without what a version may lack; one has imported by name."""

    def make(is_cpu=True, lacks=()):
        modules = {name: ModuleType(name) for name in ("vllm.platforms", OPS, UTILS, USER)}
        modules["vllm.platforms"].current_platform = SimpleNamespace(is_cpu=lambda: is_cpu)
        parts = {
            "_supports_onednn": (OPS, True),
            "check_cpu_sgl_kernel": (UTILS, lambda *sizes: True),
            "dispatch_cpu_unquantized_gemm": (UTILS, pack),
        }
        for attribute, (name, value) in parts.items():
            if attribute not in lacks:
                setattr(modules[name], attribute, value)
        modules[USER].dispatch_cpu_unquantized_gemm = pack
        for name, module in modules.items():
            monkeypatch.setitem(sys.modules, name, module)
        return modules

    return make


def loaded(module):
    """A layer after vLLM's processing, by whatever a module calls packing."""
    layer = torch.nn.Linear(3, 2)
    module.dispatch_cpu_unquantized_gemm(layer, remove_weight=True)
    return torch.nn.Sequential(layer)


def test_layers_compute_with_their_parameters(vllm):
    """P1: after the switch a parameter that is moved moves the product, also where packing was imported by name."""
    modules = vllm()
    keep_weights_live()
    assert modules[OPS]._supports_onednn is False
    assert modules[UTILS].check_cpu_sgl_kernel(8, 8, torch.float32) is False
    for name in (UTILS, USER):
        model, inputs = loaded(modules[name]), torch.ones(1, 3)
        require_live(model)
        before = model[0].cpu_linear(inputs, model[0].weight, model[0].bias)
        with torch.no_grad():
            model[0].weight.add_(0.5)
        assert not torch.equal(model[0].cpu_linear(inputs, model[0].weight, model[0].bias), before)


def test_a_packed_layer_is_refused_by_name(vllm):
    """P1, P2: whatever a future version packs elsewhere is told by the layer that computes from it."""
    with pytest.raises(ModelError, match="layer '0' to compute with its parameters"):
        require_live(loaded(vllm()[UTILS]))


def test_a_version_without_a_feature_is_left_alone(vllm):
    """P22: nothing is added to what is not there, and the rest is still turned off."""
    modules = vllm(lacks=("_supports_onednn", "dispatch_cpu_unquantized_gemm"))
    keep_weights_live()
    assert not hasattr(modules[OPS], "_supports_onednn")
    assert not hasattr(modules[UTILS], "dispatch_cpu_unquantized_gemm")
    assert modules[UTILS].check_cpu_sgl_kernel() is False


def test_other_devices_keep_their_kernels(vllm):
    """The switch is for the CPU alone."""
    modules = vllm(is_cpu=False)
    keep_weights_live()
    assert modules[OPS]._supports_onednn is True
    assert modules[UTILS].dispatch_cpu_unquantized_gemm is pack


class Wrapped(torch.nn.Module):
    """A layer as vLLM wraps it for adapters."""

    def __init__(self, layer):
        super().__init__()
        self.base_layer = layer


def test_wrapped_layers_are_back_in_their_places_for_a_time():
    """The loader finds parameters by their own names, in the same memory, also of a layer in two places."""
    layer = torch.nn.Linear(3, 2)
    wrapped = Wrapped(layer)
    model = torch.nn.ModuleDict({"a": torch.nn.ModuleDict({"x": wrapped}), "b": torch.nn.ModuleDict({"y": wrapped})})
    assert "a.x.base_layer.weight" in dict(model.named_parameters())
    with without_adapters(model):
        names = [name for name, _ in model.named_parameters(remove_duplicate=False)]
        assert names == ["a.x.weight", "a.x.bias", "b.y.weight", "b.y.bias"]
        assert model["b"]["y"] is layer
    with pytest.raises(KeyError), without_adapters(model):
        raise KeyError
    assert model["a"]["x"] is model["b"]["y"] is wrapped
