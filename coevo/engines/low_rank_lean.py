"""Low-rank members on the lean decoder: which rows of the cache belong to whom, and the factors of those at work."""

import numpy as np

from coevo.engines.lean_kernels import Corrections, Factors
from coevo.engines.llama_shape import LlamaShape
from coevo.engines.low_rank import NoiseKey, member_scale, noise_key
from coevo.interfaces import Member
from coevo.noise import factors

_STACKS = {
    "qkv": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "out": ("self_attn.o_proj",),
    "gate_up": ("mlp.gate_proj", "mlp.up_proj"),
    "down": ("mlp.down_proj",),
}
"""Field of `Corrections` -> the matrices that lie stacked in the array of that name."""


class RowFactors:
    """The members of the rows of a cache, and their factors as the kernels read them.

    Factors are computed when the first row of their noise comes and forgotten when its last row has gone; the two
    halves of an antithetic pair share them. Nothing is allocated before the first low-rank member.

    Args:
        shape: Sizes of the model.
        rows: Rows of the cache, padding included.

    Attributes:
        corrections: What the kernels read; replaced when a member of a higher rank comes.
    """

    def __init__(self, shape: LlamaShape, rows: int) -> None:
        self._shapes = {name: size for name, size in shape.tensors().items() if len(size) == 2}
        self._layers = shape.layers
        self._places: dict[NoiseKey, int] = {}
        empty = {stack: self._allocate(stack, 0, 0) for stack in _STACKS}
        self.corrections = Corrections(
            **empty, places=np.full(rows, -1), ranks=np.zeros(rows, np.int64), scales=np.zeros(rows, np.float32)
        )

    def assign(self, row: int, member: Member | None) -> None:
        """Let a row belong to a low-rank member, or to the base for None."""
        if member is None:
            self.corrections.places[row] = -1
            return
        place, of_row = self._hold(member), self.corrections
        of_row.places[row], of_row.ranks[row], of_row.scales[row] = place, member.rank, member_scale(member)

    def move(self, source: int, target: int) -> None:
        """Let a row belong to whom another row belongs."""
        for values in (self.corrections.places, self.corrections.ranks, self.corrections.scales):
            values[target] = values[source]

    def truncate(self, count: int) -> None:
        """Only the first rows go on: the others belong to nobody, and factors without a row are forgotten."""
        places = self.corrections.places
        places[count:] = -1
        used = set(places[:count].tolist())
        self._places = {key: place for key, place in self._places.items() if place in used}

    def _hold(self, member: Member) -> int:
        """Where the factors of a member lie; computes them if they are not there yet."""
        key = noise_key(member)
        if key not in self._places:
            self._reserve(member.rank)
            taken = set(self._places.values())
            place = next(place for place in range(len(taken) + 1) if place not in taken)
            for stack in _STACKS:
                self._fill(stack, place, member)
            self._places[key] = place
        return self._places[key]

    def _reserve(self, rank: int) -> None:
        """Make room for factors of this rank, one set for every row."""
        old = self.corrections
        if rank <= old.qkv.left.shape[2]:
            return
        grown = {stack: self._allocate(stack, len(old.places), rank) for stack in _STACKS}
        for stack, after in grown.items():
            for small, large in zip(getattr(old, stack), after, strict=True):
                large[: small.shape[0], :, : small.shape[2]] = small
        self.corrections = Corrections(**grown, places=old.places, ranks=old.ranks, scales=old.scales)

    def _allocate(self, stack: str, count: int, rank: int) -> Factors:
        height, width = self._shapes[f"model.layers.0.{_STACKS[stack][0]}.weight"]
        lead, parts = (count, self._layers, rank), len(_STACKS[stack])
        return Factors(np.zeros((*lead, parts, height), np.float32), np.zeros((*lead, parts, width), np.float32))

    def _fill(self, stack: str, place: int, member: Member) -> None:
        left, right = getattr(self.corrections, stack)
        for layer in range(self._layers):
            for part, matrix in enumerate(_STACKS[stack]):
                name = f"model.layers.{layer}.{matrix}.weight"
                a, b = factors(name, self._shapes[name], member)
                left[place, layer, : member.rank, part] = a.T
                right[place, layer, : member.rank, part] = b.T
