"""Low-rank members on any transformers model: the linear modules in scope add each row's own factors to their output.

Nothing is merged and no weight moves: while a batch with low-rank rows is at work, the `forward` of each module is
replaced by one that adds the rows' changes to the finished product; a batch without such rows runs the model as it
was, at its speed and to its bits. Modules that share their input (query, key and value; gate and up) share the first
half of the work, Bᵀ·x. Which do is seen in a trial pass, which also refuses what rows cannot be told apart in (experts
that are sent chosen tokens).

Factors are held in the model's type: of a correction that is about sigma times as large as the output it is added to,
rounding loses a few thousandths in bfloat16, far less than the rounding of that output. sign · sigma/√r goes into B in
fp32, before the one rounding, so that Bᵀ·x stays small and cannot overflow fp16.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from coevo.engines.low_rank import NoiseKey, low_rank_rows, member_scale, noise_key
from coevo.engines.low_rank_modules import Trial, linear_modules
from coevo.interfaces import Member
from coevo.noise import factors

FloatArray = NDArray[np.float32]
_Forward = Callable[[Tensor], Tensor]


class LowRankLinears:
    """The linear modules of a model, and the low-rank members whose rows they serve at the moment.

    Args:
        model: A causal language model of transformers, in evaluation mode; changed only between `set_rows` with a
            low-rank member and the end of its rows.
        parameters: Canonical checkpoint name -> parameter of the model.
        names: The matrices in scope.
    """

    def __init__(self, model: Any, parameters: Mapping[str, Tensor], names: Sequence[str]) -> None:
        self._model = model
        self._parameters = {name: parameters[name] for name in names}
        self._groups: list[_Group] = []
        # Bᵀ and Aᵀ of every matrix, one row per row of the batch; the groups hold views.
        self._factors: tuple[Tensor, Tensor] | None = None

    def prepare(self) -> None:
        """Find the modules and try them in a pass over a few tokens; `set_rows` does it when it is first needed.

        Raises:
            ModelError: Naming a tensor in scope whose product cannot be changed row by row.
        """
        if not self._groups:
            trial = Trial(linear_modules(self._model, self._parameters), self._model)
            self._groups = [_Group([_Matrix(*linear) for linear in group]) for group in trial.groups()]

    @torch.inference_mode()
    def set_rows(self, members: Sequence[Member | None]) -> None:
        """Let the rows of the next batch belong to these members; None and dense members add nothing.

        Factors are computed once per noise, whatever the number of its rows.

        Raises:
            ModelError: See `prepare`.
            ConfigError: If a low-rank member moves one subspace only.
        """
        self._clear()
        owners = low_rank_rows(members, len(members))
        ranks = [owner.rank for owner in owners if owner is not None]
        if not ranks:
            return
        self.prepare()
        for group in self._groups:
            group.rank = max(ranks)
        weight = next(iter(self._parameters.values()))
        down, up = (weight.new_zeros((len(owners), sum(sizes))) for sizes in self._sizes())
        self._factors = down, up
        self._fill(owners, down, up)
        self._bind(len(owners))
        for group in self._groups:
            group.attach()

    @torch.inference_mode()
    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows only, in this order, each place at or before the row it takes: see `Decoder.keep`."""
        if self._factors is None:
            return
        if not rows:
            self._clear()
            return
        for values in self._factors:
            for to, row in enumerate(rows):
                if to != row:
                    values[to].copy_(values[row])
        self._bind(len(rows))

    def _clear(self) -> None:
        if self._factors is not None:
            for group in self._groups:
                group.detach()
            self._factors = None

    def _sizes(self) -> tuple[list[int], list[int]]:
        """Numbers of a row in each group's Bᵀ, and in its Aᵀ."""
        return [group.down_size for group in self._groups], [group.up_size for group in self._groups]

    def _fill(self, owners: Sequence[Member | None], down: Tensor, up: Tensor) -> None:
        by_noise: dict[NoiseKey, list[tuple[int, Member]]] = {}
        for row, owner in enumerate(owners):
            if owner is not None:
                by_noise.setdefault(noise_key(owner), []).append((row, owner))
        for rows in by_noise.values():
            below, above = np.zeros(down.shape[1], np.float32), np.zeros(up.shape[1], np.float32)
            for group, *parts in zip(self._groups, *self._cut(below, above), strict=True):
                group.write(rows[0][1], *parts)
            for row, owner in rows:
                down[row].copy_(torch.from_numpy(member_scale(owner) * below))
                up[row].copy_(torch.from_numpy(above))

    def _bind(self, count: int) -> None:
        assert self._factors is not None
        down, up = (values[:count] for values in self._factors)
        for group, *parts in zip(self._groups, *self._cut(down, up), strict=True):
            group.bind(*parts)

    def _cut(self, down: Any, up: Any) -> tuple[list[Any], list[Any]]:
        """Both arrays, along their last axis, into the parts of the groups."""
        down_sizes, up_sizes = self._sizes()
        return _cut(down, down_sizes), _cut(up, up_sizes)


class _Matrix:
    """One module, and its rows' Aᵀ, shape (rows, rank, height)."""

    def __init__(self, name: str, module: nn.Module, is_transposed: bool) -> None:
        self.module = module
        self._name = name
        self._is_transposed = is_transposed
        weight: Any = module.weight
        self._shape = (int(weight.shape[0]), int(weight.shape[1]))
        self.width, self.height = self._shape if is_transposed else self._shape[::-1]
        self.up = torch.empty(0)

    def factors(self, member: Member) -> tuple[FloatArray, FloatArray]:
        """Aᵀ and Bᵀ as the product needs them: (rank, height) on the output's side, (rank, width) on the input's."""
        left, right = factors(self._name, self._shape, member)
        return (right.T, left.T) if self._is_transposed else (left.T, right.T)


class _Group:
    """Modules that are given the same tensor one after another.

    Attributes:
        rank: Columns of the factors; those of a member of lower rank are padded with zeros.
    """

    def __init__(self, matrices: Sequence[_Matrix]) -> None:
        self.rank = 0
        self._matrices = matrices
        self._down = torch.empty(0)
        self._input: Tensor | None = None
        self._shares = torch.empty(0)
        self._is_16_bit_on_cpu = False

    @property
    def down_size(self) -> int:
        """Numbers of a row in Bᵀ of all matrices."""
        return len(self._matrices) * self.rank * self._matrices[0].width

    @property
    def up_size(self) -> int:
        """Numbers of a row in Aᵀ of all matrices."""
        return sum(self._up_sizes())

    def write(self, member: Member, down: FloatArray, up: FloatArray) -> None:
        """Write a member's factors, not scaled, over the zeros of its part of a row."""
        below = down.reshape(len(self._matrices), self.rank, -1)
        for matrix, columns, rows in zip(self._matrices, below, _cut(up, self._up_sizes()), strict=True):
            above, columns[: member.rank] = matrix.factors(member)
            rows[: above.size] = above.ravel()

    def bind(self, down: Tensor, up: Tensor) -> None:
        """Serve these rows of factors."""
        self._down = down.view(len(down), len(self._matrices) * self.rank, -1)
        for matrix, part in zip(self._matrices, _cut(up, self._up_sizes()), strict=True):
            matrix.up = part.view(len(up), self.rank, -1)
        self._is_16_bit_on_cpu = down.device.type == "cpu" and down.element_size() == 2

    def attach(self) -> None:
        """Replace the modules' forward."""
        for place, matrix in enumerate(self._matrices):
            matrix.module.forward = self._corrected(matrix.module.forward, place)

    def detach(self) -> None:
        """Give the modules their own forward back, and let go of the factors."""
        for matrix in self._matrices:
            # The class's own method comes to light again under the attribute.
            matrix.module.__dict__.pop("forward", None)
            matrix.up = torch.empty(0)
        self._down, self._input, self._shares = torch.empty(0), None, torch.empty(0)

    def _up_sizes(self) -> list[int]:
        return [self.rank * matrix.height for matrix in self._matrices]

    def _corrected(self, forward: _Forward, place: int) -> _Forward:
        matrix, is_last = self._matrices[place], place == len(self._matrices) - 1

        def corrected(x: Tensor) -> Tensor:
            out = forward(x)
            shares = self._shares_of(x)[..., place * self.rank : (place + 1) * self.rank]
            if is_last:
                self._input, self._shares = None, torch.empty(0)
            if not self._goes_by_element(x):
                return out.baddbmm_(shares, matrix.up)
            for column in range(self.rank):
                out.addcmul_(shares[..., column : column + 1], matrix.up[:, column : column + 1])
            return out

        return corrected

    def _shares_of(self, x: Tensor) -> Tensor:
        """Bᵀ·x of all matrices, scaled: shape (rows, tokens, matrices · rank); kept for the next of the modules."""
        if x is not self._input:
            if x.dim() != 3 or len(x) != len(self._down):
                raise ValueError(f"expected the input of {len(self._down)} rows, got shape {tuple(x.shape)}")
            self._input = x
            is_short = self._goes_by_element(x)
            self._shares = (x * self._down).sum(-1)[:, None] if is_short else torch.bmm(x, self._down.transpose(1, 2))
        return self._shares

    def _goes_by_element(self, x: Tensor) -> bool:
        # Batched 16-bit products of one token each are several times slower on a CPU than sums over their elements.
        return self._is_16_bit_on_cpu and x.shape[1] == 1


def _cut(values: Any, sizes: Sequence[int]) -> list[Any]:
    """Consecutive parts of an array or tensor along its last axis."""
    ends = list(accumulate(sizes))
    return [values[..., end - size : end] for size, end in zip(sizes, ends, strict=True)]
