"""Find the modules of a transformers model whose products low-rank members change, and try them out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from coevo.errors import ModelError

_TRIAL_SHAPE = (2, 3)


class Linear(NamedTuple):
    """A module that multiplies its input by one checkpoint matrix.

    `is_transposed` where the checkpoint stores (inputs, outputs), as GPT-2 does.
    """

    name: str
    module: nn.Module
    is_transposed: bool


def linear_modules(model: Any, parameters: Mapping[str, Tensor]) -> list[Linear]:
    """The modules that own these matrices.

    Args:
        model: A model of transformers.
        parameters: Canonical checkpoint name -> parameter.

    Raises:
        ModelError: Naming the first tensor that is not the weight of a linear module.
    """
    from transformers.pytorch_utils import Conv1D

    owners: dict[int, list[nn.Module]] = {}
    for module in model.modules():
        if isinstance(module, nn.Linear | Conv1D):
            owners.setdefault(id(module.weight), []).append(module)
    found = []
    for name, parameter in parameters.items():
        if id(parameter) not in owners:
            raise _unfit(name, f"it is a parameter of shape {tuple(parameter.shape)} outside every linear module")
        for module in owners[id(parameter)]:
            if "forward" in module.__dict__:
                raise _unfit(name, "the forward of its module has been replaced by something else")
            found.append(Linear(name, module, isinstance(module, Conv1D)))
    return found


class Trial:
    """One pass over a few tokens that shows what each module is given.

    Args:
        linears: The modules.
        model: The model they belong to; the same afterwards.

    Raises:
        ModelError: If a module is not called, or its input has lost the rows of the batch.
    """

    def __init__(self, linears: Sequence[Linear], model: Any) -> None:
        self._linears = linears
        # The inputs are kept, so that none is taken for another that lay at its address.
        self._inputs: dict[int, Tensor] = {}
        try:
            for linear in linears:
                linear.module.forward = self._watched(linear)
            with torch.inference_mode():
                model(input_ids=torch.zeros(_TRIAL_SHAPE, dtype=torch.long, device=model.device), use_cache=False)
        finally:
            for linear in linears:
                linear.module.__dict__.pop("forward", None)
        for number, linear in enumerate(linears):
            if number not in self._inputs:
                raise _unfit(linear.name, "no pass over text calls its module")

    def groups(self) -> list[list[Linear]]:
        """The modules, together where they are given the same tensor, in the order of the calls."""
        by_input: dict[int, list[Linear]] = {}
        for number, given in self._inputs.items():
            by_input.setdefault(id(given), []).append(self._linears[number])
        return list(by_input.values())

    def _watched(self, linear: Linear) -> Callable[[Tensor], Tensor]:
        forward, number = linear.module.forward, self._linears.index(linear)

        def watched(x: Tensor) -> Tensor:
            if x.dim() != 3 or x.shape[:2] != _TRIAL_SHAPE:
                raise _unfit(linear.name, f"its module is given {tuple(x.shape)}, where the rows of a batch are lost")
            self._inputs.setdefault(number, x)
            out: Tensor = forward(x)
            return out

        return watched


def _unfit(name: str, reason: str) -> ModelError:
    return ModelError(
        f"expected every matrix in scope to belong to a linear module for low-rank members, but {name!r} does not: "
        f"{reason}; use dense members (rank 0) or another scope"
    )
