"""AdamW over named parameters, and its state as named arrays."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from coevo.engines.checkpoint import TensorInfo
from coevo.tuning.baselines.settings import BaselineSettings

VALUE = "value."
"""Parameters whose names begin so are those of the value head."""

_MOMENTS = ("exp_avg", "exp_avg_sq")
_STEP = "step"


def make_optimiser(named: Mapping[str, Tensor], settings: BaselineSettings) -> torch.optim.AdamW:
    """AdamW without a schedule; the value head has a learning rate of its own."""
    head = [parameter for name, parameter in named.items() if name.startswith(VALUE)]
    body = [parameter for name, parameter in named.items() if not name.startswith(VALUE)]
    groups: list[dict[str, Any]] = [{"params": body}, *([{"params": head, "lr": settings.value_lr}] if head else [])]
    return torch.optim.AdamW(groups, lr=settings.lr, weight_decay=settings.weight_decay)


def arrays_of(named: Mapping[str, Tensor], optimiser: torch.optim.Optimizer) -> dict[str, NDArray[np.float32]]:
    """Weights and optimiser state, fp32, in memory of their own: "weight:<name>", "exp_avg:<name>" and so on."""
    found: dict[str, NDArray[np.float32]] = {}
    for name, parameter in named.items():
        found[f"weight:{name}"] = _array(parameter)
        state = optimiser.state.get(parameter, {})
        found |= {f"{key}:{name}": _array(state[key]) for key in (*_MOMENTS, _STEP) if key in state}
    return found


def restore(tensors: Mapping[str, TensorInfo], named: Mapping[str, Tensor], optimiser: torch.optim.Optimizer) -> None:
    """Take weights and state as `arrays_of` gave them."""
    with torch.no_grad():
        for name, parameter in named.items():
            parameter.copy_(_tensor(tensors[f"weight:{name}"], parameter))
            if f"{_STEP}:{name}" in tensors:
                moments = {key: _tensor(tensors[f"{key}:{name}"], parameter).clone() for key in _MOMENTS}
                step = torch.from_numpy(tensors[f"{_STEP}:{name}"].read())[0]
                optimiser.state[parameter] = {_STEP: step, **moments}


def _array(tensor: Tensor) -> NDArray[np.float32]:
    values: NDArray[np.float32] = np.atleast_1d(tensor.detach().float().cpu().numpy()).copy()
    return values


def _tensor(info: TensorInfo, like: Tensor) -> Tensor:
    return torch.from_numpy(info.read()).view(like.shape).to(like.device)
