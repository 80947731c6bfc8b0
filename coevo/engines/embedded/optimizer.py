"""Muon for the hidden matrices, AdamW for the embedding and the norms.

Muon replaces a matrix's momentum by the nearest semi-orthogonal matrix, found by a quintic Newton-Schulz iteration.

References:
    Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks" (coefficients of the iteration).
"""

from collections import defaultdict

import torch
from torch import Tensor, nn

_NS_STEPS = 5
_NS_COEFFICIENTS = (3.4445, -4.7750, 2.0315)
_MUON_MOMENTUM = 0.95
_MUON_DECAY = 0.02


class Optimizer:
    """Both optimisers under one schedule factor.

    Args:
        model: The model; 2-D weights of its layers go to Muon, everything else to AdamW.
        muon_rate: Learning rate of Muon, per step and unit of spectral norm.
        adam_rate: Learning rate of AdamW.
    """

    def __init__(self, model: nn.Module, *, muon_rate: float = 0.02, adam_rate: float = 3e-3) -> None:
        named = dict(model.named_parameters())
        hidden = [p for name, p in named.items() if p.dim() == 2 and ".layers." in name]
        self._others = [p for name, p in named.items() if not (p.dim() == 2 and ".layers." in name)]
        self._adam = torch.optim.AdamW(self._others, lr=adam_rate, betas=(0.9, 0.95), weight_decay=0.0)
        self._muon_rate, self._adam_rate = muon_rate, adam_rate
        by_shape: dict[tuple[int, ...], list[Tensor]] = defaultdict(list)
        for parameter in hidden:
            by_shape[tuple(parameter.shape)].append(parameter)
        self._groups = [(group, torch.zeros(len(group), *shape)) for shape, group in by_shape.items()]

    @torch.no_grad()
    def step(self, factor: float) -> None:
        """Apply and clear the gradients.

        Args:
            factor: Schedule, in [0, 1], on both learning rates.
        """
        torch.nn.utils.clip_grad_norm_(self._others, 1.0)
        for setting in self._adam.param_groups:
            setting["lr"] = self._adam_rate * factor
        self._adam.step()
        self._adam.zero_grad()
        for group, momentum in self._groups:
            self._muon_step(group, momentum, self._muon_rate * factor)

    def _muon_step(self, group: list[Tensor], momentum: Tensor, rate: float) -> None:
        gradient = torch.stack([parameter.grad for parameter in group if parameter.grad is not None])
        momentum.lerp_(gradient, 1 - _MUON_MOMENTUM)
        directions = orthogonalised(gradient.lerp_(momentum, _MUON_MOMENTUM))
        rows, columns = momentum.shape[1:]
        for parameter, direction in zip(group, directions, strict=True):
            parameter.mul_(1 - rate * _MUON_DECAY).add_(direction, alpha=-rate * max(1.0, rows / columns) ** 0.5)
            parameter.grad = None


def orthogonalised(matrices: Tensor) -> Tensor:
    """Matrices with the same singular vectors and singular values near 1.

    Args:
        matrices: Shape (count, rows, columns).
    """
    is_tall = matrices.shape[1] > matrices.shape[2]
    x: Tensor = matrices.transpose(1, 2) if is_tall else matrices
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    a, b, c = _NS_COEFFICIENTS
    for _ in range(_NS_STEPS):
        gram = x @ x.transpose(1, 2)
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return x.transpose(1, 2) if is_tall else x
