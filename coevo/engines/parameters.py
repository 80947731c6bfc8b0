"""The one place where weights move: an exact fp32 base, and the state machine of what is served.

State is base or one member. Going to a member writes base + sign · sigma · ε into the served copy; going back writes
the base again: nothing is ever added and then subtracted, so no number of switches changes a bit. Where weights are
served in bf16 or fp16 the base stays fp32 and what is served is the rounded sum.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from re import search
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from coevo.errors import ModelError
from coevo.interfaces import Member, Update

FloatArray = NDArray[np.float32]
Shape = tuple[int, ...]
Fill = Callable[[FloatArray], None]

BLOCK = 1 << 22
"""Elements written at once; bounds the scratch memory of a store that rounds (16 MiB)."""


class Store(Protocol):
    """Where the served weights live."""

    def write(self, name: str, start: int, stop: int, fill: Fill) -> None:
        """Set elements start … stop - 1 of a tensor to what `fill` puts into the fp32 array it is given."""

    def exact(self, name: str) -> FloatArray | None:
        """The served tensor itself, flat, if it is served in fp32 on the host; otherwise None."""


class ArrayStore:
    """Weights served straight from flat fp32 arrays."""

    def __init__(self, arrays: Mapping[str, FloatArray]) -> None:
        self._arrays = arrays

    def write(self, name: str, start: int, stop: int, fill: Fill) -> None:
        """See `Store`."""
        fill(self._arrays[name][start:stop])

    def exact(self, name: str) -> FloatArray | None:
        """See `Store`."""
        return self._arrays[name]


class Weights:
    """The weights of one model copy and what they stand for at the moment.

    Args:
        base: Canonical checkpoint name -> flat fp32 array. Owned by this object: updates change it in place.
        store: The served copy, any content; the base is written to it at once.
        threads: Threads that share the writing. Never changes a bit.
    """

    def __init__(self, base: Mapping[str, FloatArray], store: Store, threads: int = 1) -> None:
        self.base = base
        self._store = store
        self._threads = threads
        self._is_settled = False
        self._active: Member | None = None
        self.activate(None)

    def activate(self, member: Member | None) -> None:
        """Serve a member, or the base for None; at once if it is served already."""
        if self._is_settled and member == self._active:
            return
        # Whatever interrupts the writing leaves a mixture, which must never pass for a member.
        self._is_settled = False
        self._for_each_block(self._write_base if member is None else self._member_writer(member))
        self._active, self._is_settled = member, True

    def commit(self, update: Update) -> int:
        """Move the base along an update, serve it, and return its fingerprint."""
        from coevo.noise import apply_update, direction_key, tensor_key

        keys = [direction_key(update.run_key, update.step, direction) for direction in update.directions]

        def move(name: str, start: int, stop: int) -> None:
            block = self.base[name][start:stop]
            apply_update(block, keys=keys, coefficients=update.coefficients, tensor=tensor_key(name), start=start)

        self._is_settled = False
        self._for_each_block(move)
        return self.fingerprint()

    def fingerprint(self) -> int:
        """Fingerprint of the unperturbed weights, taken from the served copy where that is fp32 on the host.

        So a copy that was not restored exactly cannot hide behind an untouched base.
        """
        from coevo.noise import fingerprint

        self.activate(None)
        served = ((name, self._store.exact(name)) for name in self.base)
        return fingerprint({name: self.base[name] if array is None else array for name, array in served})

    def _write_base(self, name: str, start: int, stop: int) -> None:
        base = self.base[name][start:stop]
        self._store.write(name, start, stop, lambda out: np.copyto(out, base))

    def _member_writer(self, member: Member) -> Callable[[str, int, int], None]:
        from coevo.noise import direction_key, perturb, tensor_key

        key = direction_key(member.run_key, member.step, member.direction)
        scale = member.sign * member.sigma

        def write(name: str, start: int, stop: int) -> None:
            base, tensor = self.base[name][start:stop], tensor_key(name)
            fill: Fill = lambda out: perturb(base, out, key=key, tensor=tensor, scale=scale, start=start)  # noqa: E731
            self._store.write(name, start, stop, fill)

        return write

    def _for_each_block(self, act: Callable[[str, int, int], None]) -> None:
        if self._threads == 1:
            for block in self._blocks():
                act(*block)
            return
        with ThreadPoolExecutor(self._threads) as pool:
            for done in [pool.submit(act, *block) for block in self._blocks()]:
                done.result()

    def _blocks(self) -> Iterator[tuple[str, int, int]]:
        for name, array in self.base.items():
            for start in range(0, len(array), BLOCK):
                yield name, start, min(start + BLOCK, len(array))


def match_names(
    parameters: Mapping[str, Shape], tensors: Mapping[str, Shape], *, prefix: str, ignorable: Iterable[str]
) -> dict[str, str]:
    """Pair every parameter of a model with the checkpoint tensor it came from; the pairing has to cover both sides.

    Args:
        parameters: Runtime name -> shape, each shared (tied) parameter once.
        tensors: Checkpoint name -> shape.
        prefix: Prefix (without the dot) that checkpoints of a bare base model leave out.
        ignorable: Regular expressions of checkpoint names that are no parameters: buffers, second names of tied ones.

    Returns:
        Runtime name -> checkpoint name, the canonical one.

    Raises:
        ModelError: Naming the first tensor without a partner, or the first whose shapes differ.
    """
    pairs: dict[str, str] = {}
    for name, shape in parameters.items():
        canonical = name if name in tensors else name.removeprefix(f"{prefix}.")
        if tensors.get(canonical) != shape:
            raise ModelError(
                f"expected a checkpoint tensor for parameter {name!r} of shape {shape}, got {tensors.get(canonical)}; "
                "this architecture renames or merges its weights on loading, which exact noise cannot follow"
            )
        pairs[name] = canonical
    spare = sorted(tensors.keys() - pairs.values())
    unknown = [name for name in spare if not any(search(pattern, name) for pattern in ignorable)]
    if unknown or len(set(pairs.values())) < len(pairs):
        raise ModelError(
            f"expected every checkpoint tensor in exactly one parameter, but {(unknown or sorted(pairs))[0]!r} is not; "
            "this architecture renames or merges its weights on loading, which exact noise cannot follow"
        )
    return pairs
